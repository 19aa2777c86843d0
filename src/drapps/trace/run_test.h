// For the tests of this folder: runs that nobody ran, as a plant would show them, and traces in memory.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "drapps/base/philox.h"
#include "drapps/plant/knob_range.h"
#include "drapps/policy/decider.h"
#include "drapps/policy/initial.h"
#include "drapps/policy/policies_test.h"
#include "drapps/trace/reader.h"
#include "drapps/trace/writer.h"

namespace drapps::trace {

/// What a plant shows every half second, as it is with `lanes` lanes in use; the settings are those applied last.
class SimulatedRun {
 public:
  explicit SimulatedRun(std::size_t lanes = 5, std::uint64_t seed = 1) : lanes_(lanes), seed_(seed) {
    limits.weighted = 0b0110;
    limits.cpus = 7.5;
    seen.settings = initial_settings(limits);
    seen.time_ns = 1'000'000'000'000;
  }

  const Observation& next() {
    Draws draws({.seed = seed_, .position = ++turn_}, 1);
    const auto number = [&](std::uint32_t low, std::uint32_t high) { return low + draws.below(high - low); };
    const auto grow = [&](Spread& spread, std::uint32_t count, std::uint32_t mean) {
      const std::uint32_t more = number(count / 2, count + 2);
      spread.count += more;
      spread.sum += std::uint64_t{more} * number(mean / 2, mean + 2);
      const auto edge = [&](std::uint32_t times) {
        return Histogram::upper_edge(Histogram::bucket_of(std::uint64_t{times} * number(mean / 2, mean + 2)));
      };
      spread.p50 = edge(1);
      spread.p90 = std::max(spread.p50, edge(2));
      spread.p99 = std::max(spread.p90, edge(4));
      spread.most = std::max(spread.p99, edge(16));
    };
    seen.time_ns += 500'000'000 + number(0, 2'000'000);
    seen.batches += number(8, 12);
    seen.samples += number(500, 700);
    grow(seen.consumer.step, 10, 50'000'000);
    grow(seen.consumer.stall, 10, 9'000'000);
    seen.consumer.passes = 1 + turn_ / 100;
    seen.consumer.helped_ns += number(0, 900'000);
    for (std::size_t i = 0; i < lanes_; ++i) {
      LaneObservation& lane = seen.lanes[i];
      lane.valid = true;
      grow(lane.service_wall, 600, 4'000'000);
      grow(lane.service_cpu, 600, 3'000'000);
      grow(lane.queue_length, 600, 40);
      grow(lane.wait, 600, 2'000'000);
    }
    WorkerObservation& workers = seen.workers;
    workers.workers = 8;
    for (std::uint64_t* ns : {&workers.wall_ns, &workers.idle_ns, &workers.window_ns, &workers.memory_ns,
                              &workers.storage_ns, &workers.paused_ns, &workers.other_ns}) {
      *ns += number(1'000'000, 900'000'000);
    }
    seen.storage.bytes += number(50'000'000, 90'000'000);
    seen.storage.in_flight = number(0, 64);
    grow(seen.storage.at_once, 300, 20'000);
    grow(seen.storage.waited, 300, 5'000'000);
    if (seen.settings[KnobId::kProcesses] > 0) {
      seen.processes.output += 60 * seen.settings[KnobId::kProcesses];
      seen.processes.demand_ns += 200'000'000u * seen.settings[KnobId::kProcesses];
      seen.processes.idle_cores_ns += 2'000'000'000;
      seen.consumer.stall.sum += 200'000'000;
    }
    seen.ready_batches = number(0, 4);
    seen.upcoming = {.samples = number(4000, 5000),
                     .sized = 4000,
                     .bytes = number(1u << 20, 1u << 30),
                     .seen = number(0, 4000),
                     .pixels = number(1u << 20, 1u << 30),
                     .indexed = number(0, 4000)};
    seen.memory_used = number(1u << 28, 1u << 30);
    seen.memory_limit = 1ull << 33;
    seen.process_cpu_seconds += 1e-6 * number(1'000'000, 3'900'000);
    // As on a machine without a GPU, whose disks and interfaces are in use.
    const auto rate = [&] { return reading(number(1u << 16, 1u << 27), seen.time_ns); };
    const auto share = [&] { return reading(1e-6 * number(0, 1'000'000), seen.time_ns); };
    MachineReadings readings{};
    for (Reading* each : {&readings.cpu.use_mean, &readings.cpu.use_max, &readings.cpu.machine_use,
                          &readings.tasks.threads_cpu, &readings.tasks.threads_wait, &readings.pressure.cpu,
                          &readings.pressure.io, &readings.disk.data_busy, &readings.disk.data_queue}) {
      *each = share();
    }
    for (Reading* each :
         {&readings.memory.available, &readings.memory.cached, &readings.cgroup.memory_used, &readings.disk.data_read,
          &readings.disk.all_read, &readings.network.received, &readings.network.sent}) {
      *each = rate();
    }
    seen.meters = observation_of(readings, seen.time_ns);
    return seen;
  }

  SampleBatch samples(std::size_t count = kMostSamples) {
    Draws draws({.seed = seed_, .position = turn_}, 2);
    SampleBatch batch{.seen = 600, .samples = {}};
    for (std::size_t i = 0; i < count; ++i) {
      SampleRecord sample{.index = draws.below(14'000'000),
                          .position = 600 * turn_ + i,
                          .bytes = 50'000 + draws.below(200'000),
                          .known = Learned::kAll,
                          .cpu_ns = 2'000'000 + draws.below(4'000'000)};
      for (std::size_t lane = 0; lane < 3; ++lane) sample.wall_ns[lane] = 100'000 + draws.below(4'000'000);
      batch.samples.push_back(sample);
    }
    return batch;
  }

  /// Worker processes make the samples.
  void use_processes() {
    limits = {.cpus = 7.5};
    limits[KnobId::kProcesses] = {1, 16};
    seen.settings = initial_settings(limits);
    seen.settings[KnobId::kProcesses] = 2;
  }

  Limits limits = native_limits(8, 64, 8, true);
  Observation seen;

 private:
  std::size_t lanes_;
  std::uint64_t seed_;
  std::uint64_t turn_ = 0;
};

/// Decides over a run as a client does, and records it.
class RecordedRun {
 public:
  RecordedRun(std::unique_ptr<const Policy> policy, std::string config, std::size_t lanes = 5)
      : plant(lanes), decider(std::move(policy), plant.limits), config_(std::move(config)) {}

  void record(std::shared_ptr<TraceWriter> writer) {
    writer_ = std::move(writer);
    writer_->began({.policy = decider.policy().name(), .config = config_, .state = decider.save()});
  }
  void swap(std::unique_ptr<const Policy> policy, const std::string& config) {
    if (writer_ != nullptr) writer_->swapped(policy->name(), config);
    decider.swap(std::move(policy));
  }
  Decision step(bool missing = false, std::size_t samples = 4, std::uint64_t late_ns = 1'000'000) {
    Observation seen = plant.next();
    if (missing) seen = {.settings = seen.settings};
    if (plant.limits != decider.limits()) decider.set_limits(plant.limits);
    const std::uint64_t now = plant.seen.time_ns + late_ns;
    const Decision decision = decider.decide(seen, [&] { return now; });
    if (writer_ != nullptr) writer_->decision(decider.limits(), seen, decision, plant.samples(samples));
    plant.seen.settings = decision.applied;
    observations.push_back(seen);
    decisions.push_back(decision);
    return decision;
  }

  SimulatedRun plant;
  Decider decider;
  std::vector<Observation> observations;
  std::vector<Decision> decisions;

 private:
  std::string config_;
  std::shared_ptr<TraceWriter> writer_;
};

/// A folder that is gone with it.
class TemporaryFolder {
 public:
  TemporaryFolder() : path_(std::filesystem::temp_directory_path() / "drapps_trace_XXXXXX") {
    std::string name = path_.string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    path_ = name;
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  std::string file(const char* name = "run.trace") const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

inline std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline Result<std::unique_ptr<TraceReader>> reader_of(std::string bytes) {
  return TraceReader::of(
      [bytes = std::move(bytes), at = std::size_t{0}](std::span<std::uint8_t> into) mutable -> Result<std::size_t> {
        const std::size_t size = std::min(into.size(), bytes.size() - at);
        std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), size, into.begin());
        at += size;
        return size;
      });
}

inline std::vector<Entry> entries_of(TraceReader& reader) {
  std::vector<Entry> entries;
  for (;;) {
    auto next = reader.next();
    EXPECT_TRUE(next.ok()) << next.error().to_string();
    if (!next.ok() || !*next) return entries;
    entries.push_back(**std::move(next));
  }
}

template <class T>
std::vector<T> all_of_kind(const std::vector<Entry>& entries) {
  std::vector<T> matches;
  for (const Entry& entry : entries) {
    if (const auto* one = std::get_if<T>(&entry)) matches.push_back(*one);
  }
  return matches;
}

}  // namespace drapps::trace
