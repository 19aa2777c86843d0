// Whether what a plant shows can be acted on.
#pragma once

#include <cstdint>

#include "drapps/plant/fields.h"
#include "drapps/plant/policy.h"

namespace drapps {

inline constexpr std::uint64_t kStaleNs = 2'000'000'000;

/// Compares each observation of a plant with the one before it.
class Signals {
 public:
  /// kNone, or kStale or kBroken with a sentence in `fault`. The observations come in the order in which they were
  /// taken; a broken one is what the next is compared with, since a new plant begins anew.
  Hold check(const Observation& observation, std::uint64_t now_ns, Reason& fault) noexcept;

  /// Whether there was an observation.
  bool seen() const noexcept { return seen_; }

  /// Calls visit(number&) for each number that it remembers.
  template <class Visit>
  void visit_memory(const Visit& visit) {
    visit(seen_);
    for (std::uint64_t& word : before_) visit(word);
  }
  template <class Visit>
  void visit_memory(const Visit& visit) const {
    visit(seen_);
    for (const std::uint64_t& word : before_) visit(word);
  }

 private:
  bool broken(const Observation& observation, const ObservationWords& words, Reason& fault) const noexcept;

  ObservationWords before_{};
  bool seen_ = false;
};

}  // namespace drapps
