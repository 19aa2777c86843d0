// What the network of a learned policy sees: features of the last stretch of time, by how much some of them differ from
// those of the stretch before, and how long each of its knobs has stood. One that remembers the best also sees how fast
// samples come beside the fastest pace so far, and how many notches away each knob stood then: a training may become
// slower without ever waiting, where making samples takes the accelerator or the cores from it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "drapps/base/result.h"
#include "drapps/plant/features.h"
#include "drapps/plant/policy.h"
#include "drapps/policy/fallback.h"

namespace drapps {

inline constexpr std::size_t kMostDifferences = 16;

/// The settings under which samples came fastest, and the pace; zero bytes know none. Where these settings are in force
/// again, their pace is measured anew, so that a machine that has changed is not compared with what it was.
struct BestSeen {
  double pace;  // samples/s, pauses between passes left out; smoothed
  double best;  // the fastest pace
  Settings fastest;
};

/// What a learned policy remembers. Plain and trivially copyable; zero bytes have seen nothing yet.
struct LearnedMemory {
  bool begun;
  std::array<std::uint8_t, kKnobs> rested;  // decisions since the knob moved, up to kLongRest
  Settings settings;                        // in force at the decision before
  FeatureCounters before;
  BestSeen best;
  FallbackMemory fallback;
  std::array<float, kMostDifferences> last;  // features of which differences are taken
};
static_assert(std::is_trivially_copyable_v<LearnedMemory> && sizeof(LearnedMemory) <= kPolicyMemory);

inline constexpr std::uint8_t kLongRest = 8;

/// Where the feature of that name stands among all; behind them where there is none.
std::size_t feature_place(std::string_view name);

/// A feature with what it means, as a file of weights has it.
struct NamedFeature {
  std::string name, unit, source;
  bool operator==(const NamedFeature&) const = default;
};

class LearnedInputs {
 public:
  /// kInvalidArgument names a feature that there is not, or that means something else than it did.
  /// @param differences     names of some of the features.
  /// @param remembers_best  whether it sees how the pace and its knobs stand to the fastest ones.
  static Result<LearnedInputs> of(std::span<const NamedFeature> features, std::span<const std::string> differences,
                                  std::vector<KnobId> knobs, bool remembers_best = false);

  std::size_t size() const noexcept {
    return features_.size() + differences_.size() + knobs_.size() + (remembers_best_ ? 1 + knobs_.size() : 0);
  }

  /// Takes the next observation in, and writes size() numbers.
  void next(const Observation& seen, const Limits& limits, LearnedMemory& memory, float* into) const noexcept;

 private:
  void take_pace(const Observation& seen, LearnedMemory& memory) const noexcept;
  float* put_best(const Observation& seen, const Limits& limits, const BestSeen& best, float* into) const noexcept;

  std::vector<std::size_t> features_;     // places in Features
  std::vector<std::size_t> differences_;  // places in Features
  std::vector<KnobId> knobs_;
  bool remembers_best_ = false;
};

/// The features of this version that have these names, with their meanings; a name that there is not is left out.
std::vector<NamedFeature> named_features(std::span<const std::string_view> names);

}  // namespace drapps
