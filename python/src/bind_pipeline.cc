// Loaders and iterators: drapps._core.{Loader, Iterator}.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "control_side.h"
#include "drapps/control/loader.h"
#include "drapps/modality/packed_text.h"
#include "drapps/plant/schema.h"
#include "foreign.h"
#include "shared.h"
#include "worker_call.h"

namespace nb = nanobind;

namespace drapps {
namespace {

using nb::literals::operator""_a;
using Int64Column = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// How often a waiting next() lets Python run its signal handlers.
constexpr std::chrono::milliseconds kSignalPeriod{50};

nb::list bad_samples_of(const std::vector<Error>& errors, std::size_t since) {
  nb::list lines;
  for (std::size_t place = since; place < errors.size(); ++place) {
    const nb::tuple args = error_args(errors[place]);
    nb::dict line;
    const char* names[] = {"stage", "code", "path", "offset", "index", "message"};
    for (std::size_t i = 0; i < 6; ++i) line[names[i]] = args[i];
    lines.append(line);
  }
  return lines;
}

/// Ending a pass waits for the samples in hand, and a worker may need the GIL for one of them.
struct EndWithoutGil {
  void operator()(Iterator* iterator) const {
    const WithoutGil released;
    delete iterator;
  }
};

/// An iterator as Python holds it.
struct Held {
  std::unique_ptr<Iterator, EndWithoutGil> iterator;
};

std::vector<StreamCursor> cursors_from(const nb::bytes& bytes) {
  if (bytes.size() % sizeof(StreamCursor) != 0) throw nb::value_error("cursors have 32 bytes each");
  std::vector<StreamCursor> cursors(bytes.size() / sizeof(StreamCursor));
  if (!cursors.empty()) std::memcpy(cursors.data(), bytes.c_str(), bytes.size());
  return cursors;
}

Loader::Pass pass_of(std::uint32_t epoch, std::uint64_t start, const std::optional<Int64Column>& order,
                     std::optional<std::uint64_t> seed, bool ahead, const nb::bytes& cursors,
                     const std::string& device) {
  Loader::Pass pass{.epoch = epoch,
                    .start = start,
                    .order = nullptr,
                    .seed = seed,
                    .ahead = ahead,
                    .cursors = cursors_from(cursors),
                    .device = device};
  if (order) {
    pass.order = std::make_shared<const std::vector<std::uint64_t>>(order->data(), order->data() + order->size());
  }
  return pass;
}

Held iterate(Loader& loader, std::uint32_t epoch, std::uint64_t start, const std::optional<Int64Column>& order,
             std::optional<std::uint64_t> seed, bool ahead, const nb::bytes& cursors, const std::string& device) {
  const Loader::Pass pass = pass_of(epoch, start, order, seed, ahead, cursors, device);
  auto begun = [&] {
    const WithoutGil released;
    return loader.iterate(pass);
  }();
  return {std::unique_ptr<Iterator, EndWithoutGil>(value_of(std::move(begun)).release())};
}

/// Waits for a batch that a device makes in memory which the host then reads, as that of tests; another has a stream
/// that waits.
Status made_for_host(const Batch& batch) {
  if (!batch.slot.of_device() || batch.slot.kind().place == MemoryKind::Place::kDevice) return ok_status();
  const WithoutGil released;
  return batch.slot.wait_made();
}

Batch next_batch(Iterator& iterator, const nb::object& sample_error) {
  std::optional<Runner::Next> next;
  while (!next) {
    {
      const WithoutGil released;
      next = iterator.next(kSignalPeriod);
    }
    if (!next && PyErr_CheckSignals() != 0) throw nb::python_error();
  }
  if (std::holds_alternative<Runner::Finished>(*next)) throw nb::stop_iteration();
  std::optional<Error> error;
  if (auto* raised = std::get_if<Error>(&*next)) {
    error = std::move(*raised);
  } else if (Status status = made_for_host(std::get<Batch>(*next)); !status.ok()) {
    error = std::move(status).error();
  }
  if (error) {
    PyErr_SetObject(sample_error.ptr(), error_args(*error).ptr());
    throw nb::python_error();
  }
  return std::get<Batch>(std::move(*next));
}

nb::dict counters(const Iterator& iterator) {
  nb::dict counted;
  const Runner* runner = iterator.runner();
  if (runner == nullptr) return counted;
  const Metrics& metrics = runner->metrics();
  counted["batches"] = metrics.batches.load();
  counted["samples"] = metrics.samples.load();
  counted["failed_samples"] = metrics.failed_samples.load();
  counted["kernel_cpu_s"] =
      static_cast<double>(metrics.kernel_cpu_sampled.load()) * 1e-9 * static_cast<double>(Metrics::kKernelSampling);
  counted["stall_s"] = static_cast<double>(iterator.stall_ns()) * 1e-9;
  return counted;
}

nb::dict memory_of_process() {
  Engine& engine = Engine::get();
  const MemoryLedger& ledger = std::as_const(engine).memory();
  nb::dict memory;
  memory["used"] = ledger.used();
  memory["peak"] = ledger.peak();
  memory["limit"] = ledger.limit();
  memory["held"] = ledger.held();
  nb::dict accounts;
  for (std::size_t i = 0; i < kMemoryAccounts.size(); ++i) {
    const MemoryLedger& account = engine.memory(static_cast<MemoryUse>(i));
    nb::dict entry;
    entry["used"] = account.used();
    entry["peak"] = account.peak();
    entry["releases"] = kMemoryAccounts[i].releases;
    accounts[nb::cast(kMemoryAccounts[i].name)] = std::move(entry);
  }
  memory["accounts"] = std::move(accounts);
  return memory;
}

std::unique_ptr<Engine::Limit> limit_cpus(std::optional<double> cpus) {
  if (const Status fits = cpus ? check_cores(*cpus) : ok_status(); !fits.ok()) {
    throw nb::value_error(fits.error().message.c_str());
  }
  auto limit = Engine::get().limit({.cpus = cpus});
  Engine::get().watch_machine();
  return limit;
}

Settings settings_of(const std::string& text) {
  return value_of(thread_settings_from_json(nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false)));
}

}  // namespace

void bind_pipeline(nb::module_& module) {
  // NOLINTNEXTLINE(bugprone-unused-raii): this makes the class known
  nb::class_<Engine::Limit>(module, "BudgetLimit",
                            "While it lives, a budget of cores holds for this process; see Engine.");
  module.def("limit_cpus", &limit_cpus, "cpus"_a = nb::none(),
             "A BudgetLimit to work within so many cores, or within what there is; from now on that is read again "
             "every second.");
  module.def("cpu_budget", [] { return Engine::get().cpu_budget(); }, "Cores of all loaders of this process now.");
  module.def("memory", &memory_of_process, "The account of the RAM budget of this process, in bytes.");
  module.def(
      "available_memory", [] { return Engine::get().available_memory(); },
      "Bytes that may be used more now, by what the machine and the cgroups have left.");
  module.def(
      "cpu_budget_fd", [] { return Engine::get().workers().cpu_budget().fd(); },
      "What worker processes attach to, to stay within them; -1 where the system has no memory to share.");
  module.def("read_machine_from", &Engine::read_machine_from, "root"_a,
             "For tests, before anything else: /proc and /sys are looked for below `root`.");
  // A loader alive at exit is no leak: its threads end with the process.
  nb::set_leak_warnings(false);

  auto sample_error = nb::steal(PyErr_NewExceptionWithDoc(
      "drapps._core.SampleError", "args: (stage, code, path, offset, index, message).", PyExc_RuntimeError, nullptr));
  module.attr("SampleError") = sample_error;
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&stop_worker_calls));

  nb::class_<Held>(module, "Iterator", "One pass over one epoch.")
      .def(
          "next", [sample_error](Held& self) { return next_batch(*self.iterator, sample_error); },
          "The next batch, StopIteration, or SampleError, after which the next call goes on.")
      .def(
          "consumed_outside", [](Held& self) { self.iterator->consumed_outside(); },
          "Who calls next() works ahead of the consumer, and says when that one asks and is given a batch.")
      .def("asks", [](Held& self) { self.iterator->outside_asks(); })
      .def("gives", [](Held& self) { self.iterator->outside_gives(); })
      .def_prop_ro("position", [](const Held& self) { return self.iterator->position(); })
      .def_prop_ro("left", [](const Held& self) { return self.iterator->left(); })
      .def(
          "cursors",
          [](const Held& self, std::uint64_t position) {
            const auto cursors = self.iterator->cursors(position);
            return nb::bytes(cursors.data(), cursors.size() * sizeof(StreamCursor));
          },
          "position"_a, "Where the streams stood at a position, 32 bytes each; empty where rows are made one by one.")
      .def_prop_ro(
          "ready",
          [](const Held& self) { return self.iterator->runner() != nullptr && self.iterator->runner()->ready(); },
          "Whether next() gives a batch without waiting.")
      .def(
          "bad_samples",
          [](const Held& self, std::size_t since) { return bad_samples_of(self.iterator->bad_samples(), since); },
          "since"_a = 0, "The bad samples of this pass, but for the first ones.")
      .def(
          "take_large_pictures", [](Held& self) { return self.iterator->take_large_pictures(); },
          "Pixels of the pictures in the batches taken so far of which Pillow warns; of each once.")
      .def(
          "counters", [](const Held& self) { return counters(*self.iterator); },
          "What this pass counted so far; empty once closed.")
      .def("close", [](Held& self) {
        const WithoutGil released;
        self.iterator->close();
      });

  nb::class_<Loader> loader(module, "Loader", "A described pipeline over a source.");
  bind_control_of(loader);
  loader
      .def(
          nb::new_([](const SharedSource& source, std::string_view description, std::string_view resources,
                      const std::optional<nb::callable>& foreign, std::shared_ptr<text::Tokenizer> tokenizer) {
            std::shared_ptr<const Attachment> attached;
            if (foreign) attached = foreign_reader(*foreign);
            if (tokenizer != nullptr) attached = std::make_shared<TokenizerAttachment>(std::move(tokenizer));
            PipelineSpec spec = value_of(parse_spec(description, attached));
            return value_of(Loader::make(std::move(spec), source.source, value_of(parse_resources(resources))));
          }),
          "source"_a, "spec"_a, "resources"_a, "foreign"_a = nb::none(), "tokenizer"_a = nb::none(),
          "foreign reads pictures that the core does not: bytes to uint8 of shape (height, width, 3), or to a str that "
          "says why not. Workers call it, several at once.")
      .def_prop_ro("on_device", &Loader::on_device, "Whether the batches of the latest pass lie on a device.")
      .def(
          "steps",
          [](const Loader& self, std::uint32_t epoch, std::uint64_t start) {
            return value_of(self.steps({.epoch = epoch, .start = start}));
          },
          "epoch"_a, "start"_a = 0)
      .def("iterate", &iterate, "epoch"_a, "start"_a = 0, "order"_a = nb::none(), "seed"_a = nb::none(),
           "ahead"_a = true, "cursors"_a = nb::bytes("", 0), "device"_a = "",
           "cursors: what Iterator.cursors gave at `start`, or none. device: what finishes the batches, where it can.")
      // All of these wait for a decision under way, which waits for workers that end, which may wait for the GIL.
      .def("explain",
           [](const Loader& self) {
             const WithoutGil released;
             return self.explain().dump();
           })
      .def("stats",
           [](const Loader& self) {
             const WithoutGil released;
             return self.stats().dump();
           })
      .def("settings",
           [](const Loader& self) {
             const WithoutGil released;
             return settings_to_json(self.settings(), self.knobs()).dump();
           })
      .def(
          "apply",
          [](Loader& self, const std::string& text) {
            const Settings settings = settings_of(text);
            const WithoutGil released;
            self.apply(settings);
          },
          "settings"_a)
      .def(
          "record",
          [](Loader& self, const nb::bytes& path) {
            record_into(path, [&](const std::string& name) { return self.record(name); });
          },
          "path"_a, "Raises OSError, or ValueError where there is such a file or a recording.")
      .def("take_device_warning", &Loader::take_device_warning,
           "Why nothing is decoded on the device any more, once; else empty.");
}

}  // namespace drapps
