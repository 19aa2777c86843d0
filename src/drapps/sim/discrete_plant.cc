#include "drapps/sim/discrete_plant.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

namespace drapps::sim {
namespace {

constexpr double kRecent = 0.1;  // weight of a batch in what lately was

/// Makers of a remote machine, and how much of a core each has.
double makers_of(const RemoteModel& remote) noexcept { return std::max(1.0, std::ceil(remote.cores)); }
double speed_of(const RemoteModel& remote) noexcept { return remote.cores / makers_of(remote); }

}  // namespace

DiscretePlant::DiscretePlant(const Scenario& scenario, const Settings& settings)
    : SimulatedPlant(scenario, settings), random_(scenario.seed) {
  slots_.assign(static_cast<std::size_t>(window_of(world(), settings_)), 0);
  makers_.assign(static_cast<std::size_t>(std::max(1, settings_[maker_knob()])), 0);
  set_remote(0);
}

/// Machines that are asked for work from `begin` on; those that nobody wants any more leave at once.
void DiscretePlant::set_remote(double begin) {
  far_.resize(static_cast<std::size_t>(settings_[KnobId::kRemoteWorkers] * makers_of(world().machine.remote)), begin);
}

double DiscretePlant::drawn(double mean, double cv) {
  if (mean <= 0 || cv <= 0) return mean;
  return std::gamma_distribution<double>(1 / (cv * cv), mean * cv * cv)(random_);
}

void DiscretePlant::apply(const Settings& settings) {
  const Settings before = std::exchange(settings_, fit_settings(settings, limits_));
  for (double i = window_of(world(), before); i < window_of(world(), settings_); ++i) slots_.push_back(time_);
  if (settings_[KnobId::kForm] != before[KnobId::kForm]) course_.forget_kept();
  // Makers that are free first are the first to leave.
  std::ranges::sort(makers_, std::greater{});
  makers_.resize(static_cast<std::size_t>(std::max(1, settings_[maker_knob()])), time_);
  set_remote(time_ + world().machine.remote.start);
}

void DiscretePlant::refresh() {
  if (course_.advance(time_)) {
    limits_ = limits_of(world());
    apply(settings_);
  }
  condition_ = course_.condition();
  condition_.makers = static_cast<double>(makers_.size());
}

double DiscretePlant::read(double from, const SampleCost& cost) {
  const StorageModel& storage = world().machine.storage;
  const double bytes = world().workload.sample_bytes;
  if (!world().storage_waits()) return from;
  if (std::uniform_real_distribution<double>()(random_) >= cost.read) {
    device_ = std::max(device_, from) + bytes / world().machine.memory.bandwidth;
    return device_;
  }
  const double in_flight = reads_in_flight(world(), settings_, cost.read);
  double begin = from;
  while (static_cast<double>(reads_.size()) >= in_flight) {
    std::ranges::pop_heap(reads_, std::greater{});
    begin = std::max(begin, reads_.back());
    reads_.pop_back();
  }
  const double ranks = world().machine.ranks.count;
  if (storage.requests > 0) {
    request_ = std::max(request_ + ranks / storage.requests, begin);
    begin = request_;
  }
  const double factor = condition_.storage;
  const double answered = begin + drawn(storage.latency * factor, storage.latency_cv);
  double end = answered + storage.seek;
  const double bandwidth = bandwidth_of(world(), in_flight) / factor;
  if (storage.seek > 0 || bandwidth > 0) {
    const double served = storage.seek * ranks * factor;
    const double moved = bandwidth > 0 ? bytes / bandwidth : 0;
    device_ = std::max(device_, begin) + std::max(served, moved);
    end = std::max({end, device_, answered + storage.seek + moved});
  }
  if (storage.connection > 0) end = std::max(end, answered + bytes / storage.connection);
  reads_.push_back(end);
  std::ranges::push_heap(reads_, std::greater{});
  return end;
}

/// Makes a sample by the maker that can begin first.
double DiscretePlant::make(double from, const SampleCost& cost, double cv) {
  const bool far = !far_.empty() && std::max(from, std::ranges::min(far_)) < std::max(from, std::ranges::min(makers_));
  return far ? make_far(from, cost, cv) : make_here(from, cost, cv);
}

double DiscretePlant::make_far(double from, const SampleCost& cost, double cv) {
  const RemoteModel& remote = world().machine.remote;
  const double network = world().machine.network.bandwidth / world().machine.ranks.count;
  const double bandwidth = network > 0 ? std::min(network, remote.bandwidth) : remote.bandwidth;
  const auto maker = std::ranges::min_element(far_);
  const double begin = std::max(from, *maker);
  const double moved = world().workload.row_bytes / bandwidth;
  link_ = std::max(link_, begin) + moved;  // whichever row is ready takes it
  rows_far_ += 1;
  *maker = std::max(link_, begin + drawn((cost.cpu_sum + cost.sleep) / speed_of(remote), cv) + moved);
  return *maker;
}

double DiscretePlant::make_here(double from, const SampleCost& cost, double cv) {
  const auto maker = std::ranges::min_element(makers_);
  const double begin = std::max(from, *maker);
  const CoreModel& cores = world().machine.cores;
  double busy = 1;
  for (const double& each : makers_) busy += each > begin ? 1 : 0;
  const double training = world().consumer.step > 0 ? world().consumer.cpu : 0;
  double speed = 1;
  for (int round = 0; round < 2; ++round) {
    const double on_cores = cost.cpu_sum / speed;
    speed = speed_of(cores, busy * on_cores / std::max(1e-12, on_cores + cost.sleep) + training);
  }
  const double budget = cores.budget > 0 ? std::min(cores.budget, cores.count) : cores.count;
  const double wanted = busy * cost.cpu_sum / std::max(1e-12, cost.cpu_sum + cost.sleep * speed) * speed;
  if (wanted > budget) speed *= budget / wanted;
  *maker = begin + drawn(cost.cpu_sum / speed + cost.sleep, cv);
  return *maker;
}

double DiscretePlant::make_batch(double from) {
  const SampleCost cost = cost_of(world(), settings_, condition_);
  const double mean = cost.cpu_sum + cost.sleep;
  const double cv = mean > 0 ? std::sqrt(cost.variance) / mean : 0;
  const auto rows = static_cast<std::uint64_t>(std::llround(world().workload.batch));
  std::vector<double> read_at(rows);
  for (double& at : read_at) at = read(from, cost);
  std::ranges::sort(read_at);
  rows_far_ = 0;
  double ready = from;
  for (const double at : read_at) ready = std::max(ready, make(at, cost, cv));
  if (cost.copied > 0) {
    copier_ = std::max(copier_, ready) + static_cast<double>(rows) * cost.copied / world().machine.gpu.copy;
    ready = copier_;
  }
  const double took = ready - last_ready_;
  if (took > 0) busy_ += kRecent * (std::min(static_cast<double>(rows) * cost.cpu_sum / took, 1e6) - busy_);
  last_ready_ = ready;
  course_.add_samples(static_cast<double>(rows), settings_);
  return ready;
}

void DiscretePlant::step() {
  refresh();
  for (; !slots_.empty(); slots_.pop_front()) ready_.push_back(make_batch(slots_.front()));
  const ConsumerModel& consumer = world().consumer;
  const double batch = world().workload.batch;
  const double taken = std::max(time_, ready_.front());
  const double stall = taken - time_;
  ready_.pop_front();
  if (static_cast<double>(ready_.size()) < window_of(world(), settings_))
    slots_.push_back(taken + world().workload.handover);

  Rates rates;
  rates.cost = cost_of(world(), settings_, condition_);
  const CoreModel& cores = world().machine.cores;
  const double own = busy_ + consumer.cpu;
  const double share = std::min(1.0, (own + cores.foreign) / cores.count);
  rates.speed = speed_of(cores, own);
  rates.step = drawn(step_of(world(), condition_, share, rates.speed), consumer.step_cv);
  const double offloaded = std::max(0.0, batch * rates.cost.gpu - stall);
  const double end = taken + rates.step + offloaded;
  rates.prepare = rates.fetch = batch / std::max(1e-12, end - time_);
  rates.remote = rates.prepare * rows_far_ / batch;
  SteadyStretch done{.seconds = end - time_,
                     .output = batch,
                     .taken = batch,
                     .stall = stall,
                     .ready = static_cast<double>(ready_.size()),
                     .makers = static_cast<double>(makers_.size()),
                     .remote = static_cast<double>(settings_[KnobId::kRemoteWorkers]),
                     .kept = course_.kept_bytes(settings_),
                     .full = stall <= 0};
  accounts_.add(world(), settings_, rates, done);
  trained_ += end - time_;
  time_ = end;
  if (consumer.pause > 0 && consumer.pause_every > 0 && trained_ >= consumer.pause_every) {
    trained_ = 0;
    accounts_.add(world(), settings_, rates,
                  {.seconds = consumer.pause, .makers = done.makers, .remote = done.remote, .paused = true});
    time_ += consumer.pause;
  }
}

void DiscretePlant::advance(double seconds) {
  const double end = time_ + seconds;
  while (time_ < end) step();
}

}  // namespace drapps::sim
