// Whether a policy makes the training faster than the best settings that are known, and who has the knobs where not.
//
// 1. The best known settings are, of those that were held for eight seconds without an event, the ones with the
//    least time of a sample; at first those of the start. Where these were left before they were measured for a
//    window, or soon after they had become slower, others have to be a fifth faster.
// 2. While the policy decides, its settings are compared with them now and then (probe.h): at drawn times on a
//    schedule that doubles from twelve seconds, or 32 batches, to a quarter of an hour, and earlier where whole windows
//    are a tenth slower than the best settings were. It begins once the policy's settings have been held for a window,
//    or ten seconds after it is due and they are others than the best. Settings whose worker processes could not make
//    half of the samples that are made now, by what one takes, have lost without being tried. A probe takes the
//    loader's turn, and jumps there and back past the guard's notches; budgets bind, and broken signals hold. The
//    policy is not asked meanwhile, and what it remembers stays.
// 3. Where the best known settings win they stay, and the policy is not asked any more. Where the policy's win they
//    are the best known.
// 4. An event gives the policy another chance: a step that is for two windows 15 % off what it was, other bounds of a
//    knob, another plant. After each further defeat that takes twice as long at least, from half a minute on.
//
// Source: the paired A/B/A probe of the control plane's design.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "drapps/plant/policy.h"
#include "drapps/policy/probe.h"
#include "drapps/policy/stage_times.h"

namespace drapps {

/// Who decides now.
struct Ruling {
  std::optional<Settings> settings;  // to be in force at once; the policy is asked where absent
  Reason why{};
};

/// One judge per plant and policy. Not thread-safe; reads no clock: the same observations give the same rulings.
class Judge {
 public:
  /// Takes the next observation in, before the policy is asked.
  Ruling look(const Observation& seen, const Limits& limits) noexcept;
  /// What was known of the plant may hold no longer.
  void event() noexcept { memory_.event = true; }
  /// What it does about the loader's turn; kNot where it wants none, and the policy may.
  Trying trying() const noexcept { return memory_.trying; }
  enum class Phase : std::uint8_t {
    kAsks,    // the policy decides
    kProbes,  // the policy's settings are compared with the best known
    kKeeps,   // the best known settings stay: the policy's were slower
  };
  Phase phase() const noexcept { return memory_.phase; }
  /// What the last look() has found out about the policy.
  enum class Verdict : std::uint8_t {
    kNone,
    kUpheld,  // its settings are the best known, or no slower
    kBeaten,
  };
  Verdict verdict() const noexcept { return verdict_; }

  /// What it remembers, as numbers.
  std::vector<std::uint64_t> save() const;
  /// The reverse of save(); false, and nothing is changed, where the numbers are no judge's.
  bool restore(std::span<const std::uint64_t> saved) noexcept;
  static std::size_t saved_words() noexcept;

 private:
  /// Zero bytes but for the settings are the beginning.
  struct JudgeMemory {
    Phase phase = Phase::kAsks;
    Trying trying = Trying::kNot;
    bool begun = false;
    bool event = false;  // to be taken in with the next observation
    bool rough = false;  // best_step is of less than a window, or of one in which it changed
    std::uint32_t probes = 0, in_vain = 0, defeats = 0, shifted = 0;
    std::uint64_t seed = 0, seen_ns = 0, event_ns = 0;
    std::uint64_t due_ns = 0, due_batches = 0, wait_ns = 0, early_ns = 0;  // of probes; none is early before the last
    std::uint64_t slow_ns =
        0;  // since when windows of the policy's are much slower than the best settings; 0: they are not
    std::uint64_t held_ns = 0, kept_ns = 0;  // since when
    std::uint64_t left_ns = 0;               // since when the policy does not stay with the best settings; 0: it does
    Settings held, best;
    double best_step = 0;     // ns; 0: not known
    StepMeasure measured;     // of the settings in force; its step is 0 where they were not held long enough
    StepWindow own, stretch;  // of the settings in force; of the policy's, whatever they were
    StageTimes times;
    Probe probe;
  };

  void begin(const Observation& seen) noexcept;
  void take_event(const Observation& seen) noexcept;
  void schedule(const Observation& seen) noexcept;
  void wait_twice_as_long(const Observation& seen) noexcept;
  void know(const Settings& best, double step) noexcept;
  void ask_again(const Observation& seen) noexcept;
  void leave(const Observation& seen) noexcept;
  bool too_few(const Observation& seen, const Settings& settings, double sample_ns) const noexcept;
  void watch(const Observation& seen) noexcept;
  Ruling win(const Observation& seen, const Settings& own, double step) noexcept;
  Ruling ask(const Observation& seen, const Limits& limits) noexcept;
  Ruling go_on(const Observation& seen, const Limits& limits) noexcept;
  Ruling keep(const Observation& seen, const Limits& limits) noexcept;

  JudgeMemory memory_;
  Verdict verdict_ = Verdict::kNone;
};

}  // namespace drapps
