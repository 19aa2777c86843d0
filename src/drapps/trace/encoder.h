// Records of a trace as bytes: what encoder and decoder remember of the records before makes the next one short.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "drapps/plant/fields.h"
#include "drapps/plant/policy.h"
#include "drapps/policy/decider.h"
#include "drapps/trace/format.h"
#include "drapps/trace/samples.h"
#include "drapps/trace/words.h"

namespace drapps::trace {

/// In which state a recording begins.
struct Beginning {
  std::string_view policy;
  std::string_view config;  // JSON (policy/config.h)
  DeciderState state;
  bool frozen = false;
  bool stopped = false;
};

/// Each function gives one record, whole; of a decision also what must stand before it. Not thread-safe.
class TraceEncoder {
 public:
  TraceEncoder();

  Bytes text(Tag tag, std::string_view json) const;
  Bytes began(const Beginning& beginning, std::uint64_t time_ns);
  /// The limits, where they are others than before, and the decision. Samples are left out, evenly, until it has
  /// kDecisionBytes at most; without any it is as long as what has changed.
  Bytes decision(const Limits& limits, const Observation& seen, const Decision& decision, const SampleBatch& batch);
  Bytes swapped(std::string_view policy, std::string_view config, std::uint64_t time_ns) const;
  Bytes renewed(std::string_view hash, std::uint64_t time_ns) const;
  Bytes frozen(bool frozen, std::uint64_t time_ns) const;
  Bytes pass(std::uint32_t epoch, std::uint64_t time_ns) const;
  Bytes stopped(std::string_view why, std::uint64_t time_ns) const;
  Bytes ended(std::uint64_t time_ns) const;

 private:
  static constexpr std::size_t kSettings = kKnobs + kLanes.size();

  const std::vector<Coding> codings_;
  ObservationWords words_{};
  std::array<std::uint64_t, kSettings> proposed_{}, applied_{};
  std::optional<Limits> limits_;
  Reason why_, fault_;
  std::uint64_t decisions_ = 0;
};

}  // namespace drapps::trace
