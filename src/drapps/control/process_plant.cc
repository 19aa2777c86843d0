#include "drapps/control/process_plant.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <utility>

#include "drapps/base/clock.h"
#include "drapps/base/unique_handle.h"

namespace drapps {
namespace {

constexpr std::size_t kPythonPlace = lane_place(LaneRole::kPython);
constexpr std::uint64_t kLeastNs = 1'000'000;  // that a process had a core or slept, so that none divides by 0

/// CPU time of another process that was not waited for yet. Its counter on the board is brought up to date too rarely.
std::optional<std::uint64_t> cpu_ns_of(std::int32_t pid) noexcept {
  const auto id = static_cast<clockid_t>(~static_cast<clockid_t>(pid) << 3 | 2);  // what clock_getcpuclockid(3) gives
  timespec now{};
  if (::clock_gettime(id, &now) != 0) return std::nullopt;
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

/// ns that the main thread of a process was ready to run and did not: others had the cores, or a quota was used up. 0
/// where the kernel does not say.
std::uint64_t delay_ns_of(std::int32_t pid) noexcept {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "/proc/%d/schedstat", pid);
  const UniqueHandle file(::open(text.data(), O_RDONLY | O_CLOEXEC));
  text = {};
  if (!file || ::read(file.get(), text.data(), text.size() - 1) <= 0) return 0;
  std::uint64_t delay = 0;
  return std::sscanf(text.data(), "%*s %" SCNu64, &delay) == 1 ? delay : 0;
}

WorkerTimes worker_times(const ProcessTimes& process) noexcept {
  WorkerTimes times;
  times.wall_ns = process.wall_ns();
  times.waited_ns[static_cast<std::size_t>(WorkFound::kNothing)] = process[Activity::kIdle];
  times.paused_ns = process[Activity::kPaused];
  times.other_ns = process[Activity::kStarting];
  times.lanes[kPythonPlace] = {.wall_ns = process.python_ns(), .cpu_ns = process.python_cpu_ns};
  times.cpu_ns = process.python_cpu_ns;
  return times;
}

void add(const PythonLane& lane, LaneCounts& counts) noexcept {
  counts.service_wall += lane.service_wall.counts();
  counts.queue_length += lane.queue_length.counts();
  counts.wait += lane.wait.counts();
}

}  // namespace

void ProcessPlant::attach(std::shared_ptr<Board> board, std::int32_t processes) {
  const std::scoped_lock lock(mutex_);
  leave_board();
  board_ = std::move(board);
  scaling_ = ScalingMode::kFixed;
  settings_[KnobId::kProcesses] = processes;
  ++counted_.idle;
}

void ProcessPlant::detach(const Board& board) {
  const std::scoped_lock lock(mutex_);
  if (board_.get() != &board) return;
  leave_board();
  shared_.set_used(0);
}

void ProcessPlant::leave_board() {
  joined_.clear();
  surplus_.clear();
  if (board_ == nullptr) return;
  while (!members_.empty()) part_with(members_.begin()->first);
  add(board_->python_lane(), python_);
  board_.reset();
}

/// Keeps what the process has counted.
void ProcessPlant::part_with(std::uint32_t number) {
  const auto entry = members_.find(number);
  if (entry == members_.end()) return;
  const ProcessStatus status = board_->status(number);
  static_cast<void>(count_made(entry->second, status));
  gone_ += worker_times(status.times);
  members_.erase(entry);
}

/// Gives what it has made since it was looked at last: samples, and batches as such.
std::uint64_t ProcessPlant::count_made(MemberProcess& member, const ProcessStatus& status) const {
  const std::uint64_t items = status.samples + status.tasks;
  samples_ += status.samples - std::exchange(member.samples, status.samples);
  return items - std::exchange(member.items, items);
}

void ProcessPlant::set_scaling(ScalingMode scaling, std::int32_t most) {
  const std::scoped_lock lock(mutex_);
  scaling_ = scaling;
  most_ = most;
}

void ProcessPlant::joined(std::uint32_t number, std::int32_t pid) {
  const std::scoped_lock lock(mutex_);
  if (board_ == nullptr) return;  // of a pass that does not count any more
  members_[number] = {.pid = pid};
  joined_.push_back(number);
}

void ProcessPlant::retired(std::uint32_t number) {
  const std::scoped_lock lock(mutex_);
  std::erase(joined_, number);
}

void ProcessPlant::left(std::uint32_t number) {
  const std::scoped_lock lock(mutex_);
  std::erase(joined_, number);
  std::erase(surplus_, number);
  part_with(number);
}

void ProcessPlant::asks() {
  asked_ns_ = monotonic_ns();
  waited_ns_ = 0;
  clock_.asks(asked_ns_);
}

void ProcessPlant::waits() { wait_began_ns_ = monotonic_ns(); }

void ProcessPlant::waited() { waited_ns_ += monotonic_ns() - wait_began_ns_; }

void ProcessPlant::gives() {
  const std::uint64_t now = monotonic_ns();
  clock_.gives(now, now - asked_ns_ - waited_ns_);
  const std::scoped_lock lock(mutex_);
  ++batches_;
}

void ProcessPlant::ends() { clock_.ends(monotonic_ns()); }

void ProcessPlant::idle() {
  const std::scoped_lock lock(mutex_);
  ++counted_.idle;
}

void ProcessPlant::begin_pass() {
  ends();
  const std::scoped_lock lock(mutex_);
  ++counted_.idle;
}

std::int32_t ProcessPlant::processes() const {
  const std::scoped_lock lock(mutex_);
  return settings_[KnobId::kProcesses];
}

void ProcessPlant::want(std::int32_t processes) {
  const std::scoped_lock lock(mutex_);
  settings_[KnobId::kProcesses] = std::max(processes, 1);
}

std::vector<std::uint32_t> ProcessPlant::take_retired() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(surplus_, {});
}

Limits ProcessPlant::limits() const {
  const std::scoped_lock lock(mutex_);
  const std::int32_t now = settings_[KnobId::kProcesses];
  const bool fixed = scaling_ == ScalingMode::kFixed;
  Limits limits;
  limits[KnobId::kProcesses] = fixed ? Bounds{now, now} : Bounds{1, std::max(most_, now)};
  limits.cpus = engine_.cpu_budget();
  return limits;
}

void ProcessPlant::look(std::uint64_t now) const {
  shared_.set_used(board_->resident());
  const std::uint64_t past = std::max<std::uint64_t>(now - std::exchange(looked_ns_, now), 1);
  // Where the budget is less than the cores to run on, a delay may be a quota's, and is no part of what a process
  // needs. Where it is not, delays are those of processes that sleep and wake up at once: fewer of them would do less.
  const bool limited = engine_.cpu_budget() < engine_.machine().affinity_cpus;
  for (auto& [number, member] : members_) {
    const ProcessStatus status = board_->status(number);
    const std::uint64_t items = count_made(member, status);
    const auto cpu = cpu_ns_of(member.pid);
    if (!cpu) continue;
    const auto paused = static_cast<std::uint64_t>(status.paused_seconds * 1e9);
    const std::uint64_t delay = limited ? delay_ns_of(member.pid) : 0;
    // Of one that was not there at the last look it is not known how long it has worked.
    if (std::exchange(member.seen, true)) {
      const std::uint64_t delayed = member.delay_ns == 0 ? 0 : delay - std::min(delay, member.delay_ns);
      const std::uint64_t lost = std::min(paused - member.paused_ns + delayed, past);
      const auto worked = static_cast<double>(std::max(past - lost, kLeastNs));
      const std::uint64_t used = *cpu - member.cpu_ns;
      const double alone = static_cast<double>(used) * static_cast<double>(past) / worked;
      // Its samples are made by one thread.
      counted_.demand_ns += std::max(used, static_cast<std::uint64_t>(std::min(alone, static_cast<double>(past))));
      counted_.output += items;
    }
    member.cpu_ns = *cpu;
    member.paused_ns = paused;
    member.delay_ns = delay;
  }
}

/// Of all processes that were or are.
WorkerTimes ProcessPlant::times() const {
  WorkerTimes now = gone_;
  for (const auto& [number, member] : members_) now += worker_times(board_->status(number).times);
  now.not_before(shown_);
  now.workers = static_cast<std::uint32_t>(members_.size());
  shown_ = now;
  return now;
}

LaneCounts ProcessPlant::python() const {
  LaneCounts now = python_;
  if (board_ != nullptr) add(board_->python_lane(), now);
  return now;
}

PlantCounters ProcessPlant::counters() const {
  const std::scoped_lock lock(mutex_);
  const std::uint64_t now = monotonic_ns();
  if (board_ != nullptr) look(now);
  return {.time_ns = now,
          .batches = batches_,
          .samples = counted_.output,
          .stall_ns = consumer_->stall_ns(now),
          .cpu_ns = counted_.demand_ns,
          .finished = board_ == nullptr};
}

Settings ProcessPlant::settings() const {
  const std::scoped_lock lock(mutex_);
  return settings_;
}

Observation ProcessPlant::observe() {
  const std::scoped_lock lock(mutex_);
  const std::uint64_t now = monotonic_ns();
  if (board_ != nullptr) look(now);
  Observation seen{.time_ns = now, .batches = batches_, .samples = counted_.output};
  seen.consumer = consumer_->observe(now);
  seen.settings = settings_;
  seen.finished = board_ == nullptr;
  const WorkerTimes spent = times();
  const LaneCounts lane = python();
  seen.workers = observation_of(spent);
  seen.lanes[kPythonPlace] = {.valid = true,
                              .service_wall = spread(lane.service_wall, python_before_.service_wall),
                              .service_cpu = {.count = lane.service_wall.count, .sum = spent.cpu_ns},
                              .queue_length = spread(lane.queue_length, python_before_.queue_length),
                              .wait = spread(lane.wait, python_before_.wait)};
  seen.processes = counted_;
  const std::int32_t missing = settings_[KnobId::kProcesses] - working();
  const auto unmade =
      std::ranges::count_if(joined_, [&](std::uint32_t number) { return members_.at(number).items == 0; });
  seen.processes.starting = std::max(missing, 0) + static_cast<std::int32_t>(unmade);
  seen.processes.leaving = std::max(-missing, 0) + static_cast<std::int32_t>(members_.size() - joined_.size());
  seen.processes.idle_cores_ns = engine_.idle_cpu_ns();
  seen.memory_used = engine_.memory().used();
  seen.memory_limit = engine_.memory().limit();
  seen.process_cpu_seconds = static_cast<double>(process_cpu_ns()) * 1e-9;
  return seen;
}

PlantStats ProcessPlant::stats() const {
  PlantStats stats;
  stats.limits = limits();
  const std::scoped_lock lock(mutex_);
  const std::uint64_t now = monotonic_ns();
  if (board_ != nullptr) look(now);
  stats.settings = settings_;
  stats.batches = batches_;
  stats.samples = samples_;
  stats.consumer = consumer_->counts(now);
  stats.valid[kPythonPlace] = stats.used[kPythonPlace] = true;
  stats.lanes[kPythonPlace] = python();
  stats.workers = times();
  stats.memory_used = engine_.memory().used();
  stats.memory_limit = engine_.memory().limit();
  return stats;
}

std::vector<std::int32_t> ProcessPlant::worker_pids() const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::int32_t> pids;
  pids.reserve(members_.size());
  for (const auto& [number, member] : members_) pids.push_back(member.pid);
  return pids;
}

void ProcessPlant::apply(const Settings& settings) {
  const std::scoped_lock lock(mutex_);
  settings_ = settings;
  if (board_ == nullptr || scaling_ != ScalingMode::kFree) return;
  while (working() > std::max(settings_[KnobId::kProcesses], 1)) {
    board_->retire(joined_.back());
    surplus_.push_back(joined_.back());
    joined_.pop_back();
  }
}

}  // namespace drapps
