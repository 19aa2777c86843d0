#include "drapps/sim/rates.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace drapps::sim {
namespace {

constexpr double kNoLimit = 1e12;  // samples/s: more than anything has
constexpr double kSteady = 400;    // places from which on a queue is as good as endless

double least(double a, double b) noexcept { return std::min(a, b); }

void fetch(const World& world, const Settings& settings, const Condition& condition, Rates& rates) noexcept {
  rates.fetch = kNoLimit;
  const double bytes = world.workload.sample_bytes;
  const double from_memory = bytes / world.machine.memory.bandwidth;
  if (!world.storage_waits()) return;
  const StorageModel& storage = world.machine.storage;
  const double ranks = world.machine.ranks.count;
  rates.in_flight = reads_in_flight(world, settings, rates.cost.read);
  const double bandwidth = bandwidth_of(world, rates.in_flight) / condition.storage;
  double alone = storage.latency * condition.storage + storage.seek;
  if (storage.connection > 0) {
    alone += bytes / storage.connection;
  } else if (bandwidth > 0) {
    alone += bytes / bandwidth;
  }
  double reads = alone > 0 ? rates.in_flight / alone : kNoLimit;
  const double wanted = reads;
  if (bandwidth > 0) reads = least(reads, bandwidth / bytes);
  if (storage.seek > 0) reads = least(reads, 1 / (storage.seek * ranks * condition.storage));
  if (storage.requests > 0) {
    const double answered = storage.requests / ranks;
    rates.refused = std::max(0.0, least(wanted, reads) - answered);
    reads = least(reads, answered);
  }
  rates.read = rates.in_flight / reads;
  rates.alone = alone;
  const double missed = rates.cost.read;
  rates.fetch = 1 / (missed / reads + (1 - missed) * from_memory);
}

void prepare(const World& world, const Settings& settings, const Condition& condition, Rates& rates) noexcept {
  const CoreModel& cores = world.machine.cores;
  const SampleCost& cost = rates.cost;
  const double training = world.consumer.step > 0 ? world.consumer.cpu : 0;
  const double cpu = std::max(cost.cpu_sum, 1e-12);
  rates.makers = least(condition.makers, window_of(world, settings) * world.workload.batch);
  double speed = 1;
  for (int round = 0; round < 3; ++round) {
    const double on_cores = cpu / speed;
    speed = speed_of(cores, rates.makers * on_cores / (on_cores + cost.sleep) + condition.starting + training);
  }
  const double budget = cores.budget > 0 ? least(cores.budget, cores.count) : cores.count;
  rates.speed = speed;
  rates.prepare = least(rates.makers / (cpu / speed + cost.sleep), budget / cpu);
  if (world.workload.caps > 0 && settings[KnobId::kFused] == 0) {
    for (std::size_t i = 0; i < kStages.size(); ++i) {
      const double share = settings.lane_weights[lane_place(kStages[i])] / static_cast<double>(kWeightUnit);
      if (cost.cpu[i] > 0) rates.prepare = least(rates.prepare, std::ceil(rates.makers * share) * speed / cost.cpu[i]);
    }
  }
  if (condition.remote > 0) {
    const RemoteModel& remote = world.machine.remote;
    const double far = remote.cores / (cpu + cost.sleep);
    rates.remote = least(condition.remote * far, remote.bandwidth / world.workload.row_bytes);
    rates.prepare += rates.remote;
  }
}

/// Rows from remote machines and records come over one network.
double network(const World& world, const Rates& rates) noexcept {
  const NetworkModel& network = world.machine.network;
  if (network.bandwidth <= 0) return kNoLimit;
  const double remote = rates.prepare > 0 ? rates.remote / rates.prepare : 0;
  const double read = network.storage > 0 ? rates.cost.read * world.workload.sample_bytes : 0;
  const double bytes = remote * world.workload.row_bytes + (1 - remote) * read;
  return bytes > 0 ? network.bandwidth / world.machine.ranks.count / bytes : kNoLimit;
}

/// s from the first read of a batch until the next may take its place, where no other is under way.
double batch_time(const World& world, const Rates& rates) noexcept {
  const double batch = world.workload.batch;
  const SampleCost& cost = rates.cost;
  const StorageModel& storage = world.machine.storage;
  double first = 0;
  double rest = batch / rates.transfer;
  if (cost.read > 0) {
    const double together = least(rates.in_flight, batch * cost.read);
    first += rates.alone * longest_of(together, storage.latency_cv * storage.latency / std::max(rates.alone, 1e-12));
    rest = std::max(rest, (batch - together / cost.read) / rates.fetch);
  }
  const double service = cost.cpu_sum / rates.speed + cost.sleep;
  const double together = least(rates.makers, batch);
  first += service * longest_of(together, service > 0 ? std::sqrt(cost.variance) / service : 0);
  return first + std::max(rest, (batch - together) / rates.prepare) + world.workload.handover;
}

/// The consumer's own rate depends on how busy the host is, and that on the rate.
void consume(const World& world, const Condition& condition, Rates& rates) noexcept {
  const CoreModel& cores = world.machine.cores;
  const double batch = world.workload.batch;
  if (world.consumer.step <= 0) {
    rates.consume = rates.cost.gpu > 0 ? 1 / rates.cost.gpu : kNoLimit;
    return;
  }
  const auto at = [&](double rate) {
    const double here = rate * rates.cost.cpu_sum * (rates.prepare > 0 ? 1 - rates.remote / rates.prepare : 1);
    const double own = here + condition.starting + world.consumer.cpu;
    const double busy = least(1, (own + cores.foreign) / cores.count);
    rates.step = step_of(world, condition, busy, speed_of(cores, own));
    return batch / (rates.step + batch * rates.cost.gpu);
  };
  // It falls with the rate, so that there is one place where both agree: found by bisection where the ends differ.
  double low = at(rates.produce);
  double high = least(at(0), rates.produce);
  if (low >= rates.produce || low >= high) {
    rates.consume = low;
    return;
  }
  for (int round = 0; round < 12; ++round) {
    const double middle = 0.5 * (low + high);
    (at(middle) >= middle ? low : high) = middle;
  }
  rates.consume = at(low);
}

}  // namespace

double queue_rate(double arrivals, double services, double places) noexcept {
  if (arrivals <= 0 || services <= 0) return 0;
  const double load = least(arrivals, services) / std::max(arrivals, services);
  if (load > 1 - 1e-9) return least(arrivals, services) * places / (places + 1);
  const double power = std::exp(places * std::log(load));
  return least(arrivals, services) * (1 - power) / (1 - power * load);
}

Rates rates_of(const World& world, const Settings& settings, const Condition& condition) noexcept {
  Rates rates;
  rates.cost = cost_of(world, settings, condition);
  fetch(world, settings, condition, rates);
  prepare(world, settings, condition, rates);
  rates.transfer = rates.cost.copied > 0 ? world.machine.gpu.copy / rates.cost.copied : kNoLimit;
  const double flow = least(least(least(rates.fetch, rates.prepare), rates.transfer), network(world, rates));
  const double batch = world.workload.batch;
  const double depth = window_of(world, settings);
  rates.produce = least(flow, depth * batch / batch_time(world, rates));
  consume(world, condition, rates);

  rates.meet = least(rates.produce, rates.consume);
  const double mean = batch / rates.produce;
  // What makers do side by side adds to a batch's time by their number.
  const double spread = rates.cost.variance * batch / (rates.makers * rates.makers * mean * mean);
  const double variances = least(spread, 1.0) + world.consumer.step_cv * world.consumer.step_cv;
  if (variances > 0 && world.consumer.step > 0) {
    const double places = 2 * (depth + 1) / variances;
    if (places < kSteady) rates.meet = queue_rate(rates.produce, rates.consume, places);
  }
  return rates;
}

}  // namespace drapps::sim
