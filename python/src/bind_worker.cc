// Worker processes: drapps._core.{Board, Work, ProcessStatus, process_start_time,
// take_long_slices, keep_freed_memory}.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "board_side.h"
#include "buffers.h"
#include "drapps/base/heap.h"
#include "drapps/exec/slices.h"
#include "shared.h"

namespace nb = nanobind;

namespace drapps {
namespace {

using nb::literals::operator""_a;
using Array = nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>>;
using Nanoseconds = std::chrono::nanoseconds;
using KindAndParts = nb::typed<nb::tuple, int, nb::typed<nb::list, Array>>;

// How often a waiting parent lets Python run its signal handlers, which may have been meant for another thread.
constexpr Nanoseconds kSignalPeriod = std::chrono::milliseconds(50);
// Copies above this are worth letting other threads run.
constexpr std::size_t kLongCopy = std::size_t{64} << 10;

constexpr std::array<std::string_view, kActivities> kActivityNames = {"starting", "idle", "sample", "collate",
                                                                      "paused"};

[[noreturn]] void raise(PyObject* type, const std::string& message) {
  PyErr_SetString(type, message.c_str());
  throw nb::python_error();
}

/// The value; or ValueError for wrong use, MemoryError where there is no room, RuntimeError otherwise.
template <class T>
T checked(Result<T> result) {
  if (result.ok()) return std::move(result).value();
  const Error& error = result.error();
  switch (error.code) {
    case ErrorCode::kInvalidArgument: raise(PyExc_ValueError, error.message);
    case ErrorCode::kTooLarge:
    case ErrorCode::kResourceExhausted: raise(PyExc_MemoryError, error.message);
    default: raise(PyExc_RuntimeError, error.message);
  }
}

void run_signal_handlers() {
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

Nanoseconds nanoseconds(double seconds) {
  if (std::isnan(seconds)) throw nb::value_error("a timeout is a number of seconds");
  return Nanoseconds(static_cast<std::int64_t>(std::clamp(seconds, 0.0, 1e9) * 1e9));
}

Board& parent(const Side& side) { return *parent_board(side); }

BoardClient& worker(const Side& side) {
  if (side.client == nullptr) throw std::runtime_error("only a worker that attached to the board may do this");
  return *side.client;
}

std::uint32_t number_of(const Board& board, std::int64_t number) {
  if (number < 0 || number >= board.memory()->max_processes()) throw nb::index_error("there is no such process number");
  return static_cast<std::uint32_t>(number);
}

// ---- memory

/// An array over memory that `keeper` keeps.
template <class Keeper>
Array array_over(std::span<std::byte> data, Keeper keeper) {
  auto* kept = new Keeper(std::move(keeper));
  const nb::capsule owner(kept, [](void* self) noexcept { delete static_cast<Keeper*>(self); });
  return Array(data.data(), {data.size()}, owner);
}

/// Runs `copy`, without the GIL where it takes long.
template <class Copy>
auto copying(std::size_t bytes, const Copy& copy) {
  std::optional<WithoutGil> released;
  if (bytes > kLongCopy) released.emplace();
  return copy();
}

// ---- the parent's side

Side make(std::uint32_t max_processes, std::uint32_t max_tasks, std::uint64_t region_bytes) {
  return {.board = checked(Board::make(max_processes, max_tasks, region_bytes)), .client = nullptr};
}

std::uint32_t enlist(const Side& self) {
  auto number = parent(self).enlist();
  if (!number.ok()) raise(PyExc_RuntimeError, number.error().message);
  return *number;
}

std::int64_t publish(const Side& self, const nb::bytes& input, std::uint32_t worker, std::int32_t process,
                     std::uint32_t pieces, bool urgent, std::uint64_t position) {
  const Bytes bytes(static_cast<const std::byte*>(input.data()), input.size());
  const TaskRequest request{
      .worker = worker, .process = process, .pieces = pieces, .urgent = urgent, .position = position};
  Board& board = parent(self);
  const auto ticket = checked(copying(bytes.size(), [&] { return board.publish(bytes, request); }));
  return ticket ? static_cast<std::int64_t>(*ticket) : -1;
}

/// Calls `wait(slice)` without the GIL until it gives a value or the time is up.
template <class Wait>
auto wait_in_slices(double timeout, const Wait& wait) {
  const auto deadline = std::chrono::steady_clock::now() + nanoseconds(timeout);
  for (;;) {
    const Nanoseconds left = deadline - std::chrono::steady_clock::now();
    auto result = [&] {
      const WithoutGil released;
      return wait(std::clamp(left, Nanoseconds(0), kSignalPeriod));
    }();
    run_signal_handlers();
    if (result || left <= kSignalPeriod) return result;
  }
}

bool wait(const Side& self, std::uint64_t ticket, double timeout) {
  const Board& board = parent(self);
  return wait_in_slices(timeout, [&](Nanoseconds slice) { return board.wait(ticket, slice); });
}

std::uint32_t wait_event(const Side& self, std::uint32_t seen, double timeout) {
  const Board& board = parent(self);
  const auto changed = [&](Nanoseconds slice) -> std::optional<std::uint32_t> {
    const std::uint32_t events = board.wait_event(seen, slice);
    return events != seen ? std::optional(events) : std::nullopt;
  };
  return wait_in_slices(timeout, changed).value_or(seen);
}

KindAndParts take(const Side& self, std::uint64_t ticket) {
  TakenResult taken = checked(parent(self).take(ticket));
  nb::list parts;
  for (HeldPart& part : taken.parts) parts.append(nb::cast(array_over(part.data, std::move(part.handle))));
  return nb::make_tuple(taken.kind, parts);
}

std::vector<std::pair<std::uint64_t, std::int32_t>> reap(const Side& self, std::int64_t number) {
  Board& board = parent(self);
  const std::uint32_t dead = number_of(board, number);
  const WithoutGil released;
  std::vector<std::pair<std::uint64_t, std::int32_t>> lost;
  for (const Lost& one : board.reap(dead)) lost.emplace_back(one.ticket, one.piece);
  return lost;
}

std::vector<std::pair<double, std::uint64_t>> slowest(const Side& self) {
  std::vector<std::pair<double, std::uint64_t>> samples;
  for (const Slow& slow : parent(self).slowest()) samples.emplace_back(slow.seconds, slow.position);
  return samples;
}

// ---- a worker's side

Side attach(int fd, std::uint32_t number, int budget) {
  return {.board = nullptr, .client = checked(BoardClient::attach(fd, number, budget))};
}

const char* name_of(Work::WorkKind kind) {
  switch (kind) {
    case Work::WorkKind::kNone: return "none";
    case Work::WorkKind::kTask: return "task";
    case Work::WorkKind::kPiece: return "piece";
    case Work::WorkKind::kStop: return "stop";
  }
  return "none";
}

Work next(const Side& self, double timeout, bool pending) {
  BoardClient& client = worker(self);
  std::optional<Result<Work>> work;
  {
    const WithoutGil released;
    work.emplace(client.next(nanoseconds(timeout), pending));
  }
  run_signal_handlers();
  return checked(*std::move(work));
}

bool begin(const Side& self, std::uint64_t ticket, std::uint32_t piece) {
  BoardClient& client = worker(self);
  const WithoutGil released;
  return client.begin(ticket, piece);
}

void finish(const Side& self, std::uint64_t ticket, std::uint32_t piece) {
  if (!worker(self).finish(ticket, piece)) throw nb::value_error("this process has not begun that piece");
}

void enter(const Side& self, std::string_view name) {
  const auto* activity = std::ranges::find(kActivityNames, name);
  if (activity == std::end(kActivityNames) || *activity == "paused")
    throw nb::value_error("a phase is starting, idle, sample or collate");
  worker(self).enter(static_cast<Activity>(activity - std::begin(kActivityNames)));
}

std::optional<KindAndParts> delivered(const Side& self, std::uint64_t ticket, std::uint32_t piece) {
  const BoardClient& client = worker(self);
  const std::optional<Packet> packet = checked(client.delivered(ticket, piece));
  if (!packet) return std::nullopt;
  std::size_t total = 0;
  for (const BlockBytes& part : packet->parts) total += part.data.size();
  std::vector<std::unique_ptr<std::byte[]>> copies;
  copying(total, [&] {
    for (const auto& [block, data] : packet->parts) {
      copies.push_back(std::make_unique_for_overwrite<std::byte[]>(data.size()));
      if (!data.empty()) std::memcpy(copies.back().get(), data.data(), data.size());
    }
  });
  nb::list parts;
  for (std::size_t i = 0; i < copies.size(); ++i) {
    const std::span data(copies[i].get(), packet->parts[i].data.size());
    parts.append(nb::cast(array_over(data, std::move(copies[i]))));
  }
  return nb::make_tuple(packet->kind, parts);
}

void deliver(const Side& self, std::uint64_t ticket, std::uint32_t kind, const nb::sequence& parts) {
  BoardClient& client = worker(self);
  const Buffers buffers(parts);
  checked(copying(buffers.total(), [&] { return client.deliver(ticket, kind, buffers.bytes()); }));
}

void deliver_piece(const Side& self, std::uint64_t ticket, std::uint32_t piece, std::uint32_t kind,
                   const nb::sequence& parts) {
  BoardClient& client = worker(self);
  const Buffers buffers(parts);
  checked(copying(buffers.total(), [&] { return client.deliver_piece(ticket, piece, kind, buffers.bytes()); }));
}

Array allocate(const Side& self, std::uint64_t nbytes) {
  BlockHandle handle = checked(worker(self).allocate(nbytes));
  const std::span data(handle.data(), nbytes);
  return array_over(data, std::move(handle));
}

void bind_parent_side(nb::class_<Side>& board) {
  board
      .def_static("make", &make, "max_processes"_a, "max_tasks"_a, "region_bytes"_a = 0,
                  "A new board's shared memory. Raises ValueError, MemoryError.")
      .def_prop_ro(
          "fd",
          [](const Side& self) {
            if (self.board == nullptr) throw std::runtime_error("a worker knows its descriptor itself");
            return self.board->memory()->fd();  // in a child, too: it attaches to this
          },
          "The memory's file descriptor, for attach().")
      .def("enlist", &enlist, "A number for a new process. Raises RuntimeError where there is none.")
      .def("publish", &publish, "input"_a, nb::kw_only(), "worker"_a, "process"_a = -1, "pieces"_a = 0,
           "urgent"_a = false, "position"_a = 0,
           "Opens a task and gives its ticket; -1 where the board is full. Raises ValueError, MemoryError.")
      .def(
          "events", [](const Side& self) { return parent(self).events(); }, "Counts tasks that came to an end.")
      .def("wait", &wait, "ticket"_a, "timeout"_a, "Whether the task is done before the seconds have passed.")
      .def("wait_event", &wait_event, "seen"_a, "timeout"_a, "events(), as soon as it is not `seen`.")
      .def(
          "done", [](const Side& self, std::uint64_t ticket) { return parent(self).done(ticket); }, "ticket"_a)
      .def("take", &take, "ticket"_a,
           "(kind, parts) of a task that is done, which leaves the board; kind is -1 where the worker dropped it. Each "
           "part holds its memory. Raises RuntimeError where it is not done, and where the result is none.")
      .def(
          "cancel", [](const Side& self, std::uint64_t ticket) { parent(self).cancel(ticket); }, "ticket"_a)
      .def(
          "repin", [](const Side& self, std::uint64_t ticket, std::int32_t to) { parent(self).repin(ticket, to); },
          "ticket"_a, "process"_a, "Gives a task that nobody has taken to one process, or to any (-1).")
      .def(
          "retire", [](const Side& self, std::int64_t number) { parent(self).retire(number_of(parent(self), number)); },
          "number"_a)
      .def(
          "stop", [](const Side& self) { parent(self).stop(); }, "All processes end after their current sample.")
      .def("reap", &reap, "number"_a,
           "Clears up after a process that is dead. Gives (ticket, piece) of the pieces that it ran, and (ticket, -1) "
           "of "
           "the tasks that it owned: all of them are open again.")
      .def(
          "status",
          [](const Side& self, std::int64_t number) { return parent(self).status(number_of(parent(self), number)); },
          "number"_a)
      .def("slowest", &slowest, "(seconds, position) of the slowest samples of the living processes.")
      .def("bytes_in_use", [](const Side& self) { return parent(self).bytes_in_use(); })
      .def("resident", [](const Side& self) { return parent(self).resident(); });
}

void bind_worker_side(nb::class_<Side>& board) {
  board
      .def_static("attach", &attach, "fd"_a, "number"_a, "budget"_a = -1,
                  "In the process that is to work under an enlisted number. Raises ValueError.")
      .def(
          "start_heartbeat",
          [](const Side& self, std::int32_t pid, std::uint64_t start, bool kill_with_parent) {
            checked(worker(self).start_heartbeat({.pid = pid, .start = start}, kill_with_parent));
          },
          "parent_pid"_a, "parent_start"_a, "kill_with_parent"_a)
      .def("next", &next, "timeout"_a, "pending"_a)
      .def("begin", &begin, "ticket"_a, "piece"_a, "Claims a piece of an own task; False where another has it.")
      .def("finish", &finish, "ticket"_a, "piece"_a, "The piece begun last is made, and kept here.")
      .def("phase", &enter, "name"_a)
      .def(
          "ready", [](const Side& self, std::uint64_t ticket) { return worker(self).ready(ticket); }, "ticket"_a)
      .def("delivered", &delivered, "ticket"_a, "piece"_a, "A copy of another's result of a piece; None without one.")
      .def("deliver_piece", &deliver_piece, "ticket"_a, "piece"_a, "kind"_a, "parts"_a)
      .def("deliver", &deliver, "ticket"_a, "kind"_a, "parts"_a)
      .def(
          "drop", [](const Side& self, std::uint64_t ticket) { checked(worker(self).drop(ticket)); }, "ticket"_a)
      .def(
          "cancelled", [](const Side& self, std::uint64_t ticket) { return worker(self).cancelled(ticket); },
          "ticket"_a)
      .def(
          "reopen_piece",
          [](const Side& self, std::uint64_t ticket, std::uint32_t piece) {
            checked(worker(self).reopen_piece(ticket, piece));
          },
          "ticket"_a, "piece"_a, "Gives a stolen piece back, to be run by its owner only.")
      .def("allocate", &allocate, "nbytes"_a, "Memory for a part of a result, which then goes without a copy.");
}

}  // namespace

void bind_worker(nb::module_& module) {
  nb::class_<ProcessStatus>(module, "ProcessStatus", "What a worker process says of itself.")
      .def_ro("pid", &ProcessStatus::pid)
      .def_ro("heartbeats", &ProcessStatus::heartbeats)
      .def_ro("cpu_seconds", &ProcessStatus::cpu_seconds)
      .def_ro("busy_seconds", &ProcessStatus::busy_seconds)
      .def_ro("paused_seconds", &ProcessStatus::paused_seconds)
      .def_ro("samples", &ProcessStatus::samples)
      .def_ro("tasks", &ProcessStatus::tasks)
      .def_prop_ro("phase",
                   [](const ProcessStatus& self) {
                     return std::string(kActivityNames[static_cast<std::size_t>(self.activity)]);
                   })
      .def_ro("ticket", &ProcessStatus::ticket)
      .def_ro("piece", &ProcessStatus::piece)
      .def_ro("position", &ProcessStatus::position)
      .def_ro("since_seconds", &ProcessStatus::since_seconds)
      .def_ro("launch_seconds", &ProcessStatus::launch_seconds)
      .def_ro("setup_seconds", &ProcessStatus::setup_seconds)
      .def_ro("first_sample_seconds", &ProcessStatus::first_sample_seconds);

  nb::class_<Work>(module, "Work", "What next() gave: a task to own, one piece of another's, stop, or none.")
      .def_prop_ro("kind", [](const Work& self) { return name_of(self.kind); })
      .def_prop_ro("ticket", [](const Work& self) { return self.ticket; })
      .def_prop_ro("piece", [](const Work& self) { return self.piece; })
      .def_prop_ro("pieces", [](const Work& self) { return self.pieces; })
      .def_prop_ro("worker", [](const Work& self) { return self.worker; })
      .def_prop_ro("position", [](const Work& self) { return self.position; })
      .def_prop_ro(
          "input", [](const Work& self) { return array_over(self.input, self.block); }, nb::rv_policy::move,
          "The input's bytes, good until the task ends.");

  nb::class_<Side> board(module, "Board", "The tasks of worker processes: the parent's side, or a worker's.");
  bind_parent_side(board);
  bind_worker_side(board);

  module.def("process_start_time", &process_start_time, "pid"_a,
             "When a process began, in clock ticks since the machine did; 0 where no such process runs.");
  module.def("take_long_slices", &take_long_slices,
             "Asks for long turns on a core for the calling thread, which those with shorter ones interrupt at once.");
  module.def("keep_freed_memory", &keep_freed_memory,
             "Has malloc keep the memory of a batch that was freed for the next one.");
}

}  // namespace drapps
