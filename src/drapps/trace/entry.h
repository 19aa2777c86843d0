// What a trace holds, as it is read: by the lists of its own header, whatever version wrote it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "drapps/plant/plant.h"
#include "drapps/trace/samples.h"

namespace drapps::trace {

/// Limits, by the knobs and lanes of the header.
struct LimitsRead {
  std::vector<Bounds> knobs;
  std::uint64_t weighted = 0;  // bit i: lane i shares the workers of a split plan
  double cpus = 0;
};

/// Who decided when the recording began, and what guard and policy remembered.
struct Began {
  std::uint64_t time_ns = 0;
  std::string policy;
  std::string config;  // JSON (policy/config.h)
  LimitsRead limits;
  bool frozen = false;
  bool stopped = false;
  std::string why;          // the policy's, for its last proposal
  std::uint8_t trying = 0;  // plant/policy.h
  std::vector<std::uint8_t> memory;
  std::vector<std::uint64_t> guard;
};

struct LimitsChanged {
  LimitsRead limits;
};

struct SampleRead {
  std::uint64_t index = 0, position = 0, bytes = 0;
  Learned known = Learned::kNothing;
  std::uint64_t cpu_ns = 0;
  std::vector<std::pair<std::uint8_t, std::uint64_t>> wall_ns;  // place of the lane in the header's list, and ns
};

struct DecisionRead {
  std::vector<std::uint64_t> words;             // the observation, by the header's fields
  std::uint64_t guard_ns = 0;                   // when the guard looked at it
  std::vector<std::int32_t> proposed, applied;  // knobs, then weights
  std::vector<std::uint8_t> holds;              // of each knob, then of the weights together; by the header's holds
  std::string why, fault;
  std::uint64_t samples_seen = 0;
  std::vector<SampleRead> samples;
};

struct Swapped {
  std::uint64_t time_ns = 0;
  std::string policy;
  std::string config;
};

struct Renewed {
  std::uint64_t time_ns = 0;
  std::string hash;  // of the weights
};

struct Frozen {
  std::uint64_t time_ns = 0;
  bool frozen = false;
};

struct PassBegan {
  std::uint64_t time_ns = 0;
  std::uint32_t epoch = 0;
};

struct Stopped {
  std::uint64_t time_ns = 0;
  std::string why;
};

struct Ended {
  std::uint64_t time_ns = 0;
  std::uint64_t decisions = 0;
};

using Entry = std::variant<Began, LimitsChanged, DecisionRead, Swapped, Renewed, Frozen, PassBegan, Stopped, Ended>;

}  // namespace drapps::trace
