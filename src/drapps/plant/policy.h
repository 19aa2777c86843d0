// What decides: a pure function from what was seen and what it remembers to the settings it would like.
//
//   PolicyState state{.limits = plant.limits()};
//   const Settings proposed = policy->decide(plant.observe(), state);
//   log(state.why.view());
//
// A policy holds no clock, no thread and no hidden memory: the same observation and the same state give the same
// proposal, so a recorded run replays decision by decision. Its state is a block of plain bytes of fixed size that
// a trace can store. Learning happens elsewhere and swaps the policy.
#pragma once

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "drapps/plant/plant.h"

namespace drapps {

inline constexpr std::size_t kPolicyMemory = 2048;  // bytes that a policy may remember
inline constexpr std::size_t kReasonBytes = 112;

/// A short sentence of bounded length, kept in place; longer text is cut.
class Reason {
 public:
  Reason() = default;
  Reason(std::string_view text) noexcept {  // NOLINT(google-explicit-constructor)
    length_ = static_cast<std::uint8_t>(std::min(text.size(), kReasonBytes));
    std::copy_n(text.data(), length_, text_.data());
  }
  /// As vprintf() writes it.
  [[gnu::format(printf, 1, 0)]] static Reason format(const char* format, std::va_list values) noexcept;
  /// As printf() writes it.
  [[gnu::format(printf, 1, 2)]] static Reason printed(const char* format, ...) noexcept;
  std::string_view view() const noexcept { return {text_.data(), length_}; }
  bool operator==(const Reason& other) const noexcept { return view() == other.view(); }

 private:
  std::array<char, kReasonBytes> text_{};
  std::uint8_t length_ = 0;
};

/// What a policy does about its turn (plant.h).
enum class Trying : std::uint8_t { kNot, kWaits, kTries };

/// All that a policy knows besides the observation. `PolicyState{limits}` is the state in which every policy begins;
/// its memory is then all zero bytes, and a policy's own type must read zero bytes as "nothing known yet".
/// What a policy may remember over which another learns.
inline constexpr std::size_t kBaseMemory = 1024;

struct PolicyState {
  Limits limits{};
  Reason why{};  // the policy's reason for its last proposal
  Trying trying = Trying::kNot;
  std::array<std::byte, kPolicyMemory> memory{};

  /// Gives the reason, as printf() writes it.
  [[gnu::format(printf, 2, 3)]] void say(const char* format, ...) noexcept;

  template <class T>
  T load() const noexcept {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= kPolicyMemory);
    T value;
    std::memcpy(&value, memory.data(), sizeof(T));
    return value;
  }
  /// Whether the byte at an offset is one that a bool can have.
  bool is_bool(std::size_t offset) const noexcept { return std::to_integer<unsigned>(memory[offset]) <= 1; }
  template <class T>
  void store(const T& value) noexcept {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= kPolicyMemory);
    std::memcpy(memory.data(), &value, sizeof(T));
  }
};
static_assert(std::is_trivially_copyable_v<PolicyState>);

class Policy {
 public:
  virtual ~Policy() = default;
  virtual std::string_view name() const noexcept = 0;

  /// What this policy would like to be in force next. It may ask for anything: what stands between a policy and the
  /// knobs moves them one notch at a time, later or not at all, and the next observation shows what is in force. A
  /// state that was made with another plant is allowed: counters that ran backwards mean a new plant, not an error.
  virtual Settings decide(const Observation& observation, PolicyState& state) const = 0;

  /// When a decision is due on a plant with such limits: so long, and so many batches or samples, after the last one.
  virtual KnobClock pace(const Limits& /*limits*/) const noexcept { return kFastClock; }

  /// Whether a memory that was stored, maybe by somebody else, is one that decide() can go on from: all zeros always
  /// are.
  virtual bool knows(const PolicyState& state) const noexcept {
    return std::all_of(state.memory.begin(), state.memory.end(), [](std::byte byte) { return byte == std::byte{0}; });
  }

  /// Whether what it does is compared with the best settings that are known, now and then (policy/judge.h).
  virtual bool judged() const noexcept { return false; }

  /// False only for tests that want every knob moved at once: then only the budgets bind.
  virtual bool guarded() const noexcept { return true; }
};

/// Why a knob was not brought all the way to what was proposed.
enum class Hold : std::uint8_t {
  kNone,
  kNotch,     // on its way, one notch at a time
  kClock,     // moved a moment ago
  kCoolDown,  // the effect of the last change is still being watched
  kBudget,    // the limits end here
  kStale,     // the observation is too old to act on
  kBroken,    // the observation contradicts the one before it
};
inline constexpr std::size_t kHolds = 7;
std::string_view name_of(Hold hold) noexcept;

/// What became of one proposal.
struct Decision {
  std::uint64_t time_ns = 0;   // of the observation
  std::uint64_t guard_ns = 0;  // when the guard looked at it
  Settings before{};
  Settings proposed{};
  Settings applied{};
  std::array<Hold, kKnobs> holds{};
  Hold weights_hold = Hold::kNone;
  Reason why{};                // the policy's
  Hold signals = Hold::kNone;  // kStale or kBroken where something is wrong with the observation
  Reason fault{};              // what is wrong with it
};

}  // namespace drapps
