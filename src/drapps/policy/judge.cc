#include "drapps/policy/judge.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>

#include "drapps/base/philox.h"
#include "drapps/plant/knob_range.h"

namespace drapps {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kFirstWaitNs = 12 * kSecond;
constexpr std::uint64_t kFirstWaitBatches = 32;
constexpr std::uint64_t kMostWaitNs = 900 * kSecond;
constexpr std::uint64_t kRestlessNs = 10 * kSecond;
constexpr std::uint64_t kHeldNs = 8 * kSecond;
constexpr std::uint64_t kJudgeSettleNs = 2 * kSecond;
constexpr std::uint64_t kFirstKeptNs = 30 * kSecond;
constexpr std::uint64_t kEventsApartNs = 60 * kSecond;  // those that are closer leave the schedule as it is
constexpr double kBetter = 0.02;
constexpr double kPlainlyBetter = 0.2;  // than settings that were not held for a window
constexpr double kTooFew = 0.5;         // of the samples that are made now
constexpr double kMuchSlower = 0.1;
constexpr double kKeptShift = 0.15;
constexpr std::uint32_t kShiftedWindows = 2;
constexpr double kTimesMemory = 8;  // decisions
constexpr std::uint32_t kKeptDoublings = 6;

std::uint64_t doubled(std::uint64_t ns, std::uint32_t times) noexcept { return ns << std::min(times, kKeptDoublings); }

}  // namespace

Ruling Judge::look(const Observation& seen, const Limits& limits) noexcept {
  verdict_ = Verdict::kNone;
  if (!memory_.begun) begin(seen);
  if (seen.time_ns < memory_.seen_ns) memory_.event = true;
  memory_.seen_ns = seen.time_ns;
  if (memory_.event) take_event(seen);
  memory_.trying = Trying::kNot;
  switch (memory_.phase) {
    case Phase::kAsks: return ask(seen, limits);
    case Phase::kProbes: return go_on(seen, limits);
    case Phase::kKeeps: return keep(seen, limits);
  }
  return {};
}

void Judge::begin(const Observation& seen) noexcept {
  memory_.begun = true;
  memory_.seed = memory_.seen_ns = seen.time_ns;
  memory_.best = seen.settings;
  ask_again(seen);
}

/// The schedule from its beginning.
void Judge::ask_again(const Observation& seen) noexcept {
  memory_.phase = Phase::kAsks;
  memory_.wait_ns = kFirstWaitNs;
  memory_.early_ns = seen.time_ns;
  memory_.in_vain = 0;
  memory_.best_step = 0;
  schedule(seen);
}

void Judge::know(const Settings& best, double step) noexcept {
  memory_.best = best;
  memory_.best_step = step;
  memory_.rough = false;
}

void Judge::wait_twice_as_long(const Observation& seen) noexcept {
  memory_.wait_ns = std::min(kMostWaitNs, 2 * memory_.wait_ns);
  schedule(seen);
}

/// The next probe, and every measurement anew.
void Judge::schedule(const Observation& seen) noexcept {
  Draws draws({.seed = memory_.seed, .position = memory_.probes}, 1);
  memory_.due_ns =
      seen.time_ns + static_cast<std::uint64_t>(static_cast<double>(memory_.wait_ns) * draws.uniform(0.75, 1.25));
  memory_.due_batches = seen.batches + kFirstWaitBatches * (memory_.wait_ns / kFirstWaitNs);
  memory_.slow_ns = 0;
  memory_.held_ns = seen.time_ns;
  memory_.measured = {};
  memory_.own.restart();
  memory_.stretch.restart();
}

void Judge::take_event(const Observation& seen) noexcept {
  const std::uint64_t now = seen.time_ns;
  memory_.event = false;
  const bool often = now >= memory_.event_ns && now - memory_.event_ns < kEventsApartNs && memory_.event_ns != 0;
  memory_.event_ns = now;
  memory_.best_step = 0;
  if (memory_.phase == Phase::kKeeps) {
    const bool early = now >= memory_.kept_ns && now - memory_.kept_ns < doubled(kFirstKeptNs, memory_.defeats - 1);
    if (!early) ask_again(seen);
    return;
  }
  memory_.phase = Phase::kAsks;
  often ? schedule(seen) : ask_again(seen);
}

/// Whether so many worker processes are too few to be faster than a sample in so long, however fast everything else is.
bool Judge::too_few(const Observation& seen, const Settings& settings, double sample_ns) const noexcept {
  const double service = memory_.times.cpu + memory_.times.sleep;
  if (settings[KnobId::kProcesses] <= 0 || service <= 0 || sample_ns <= 0) return false;
  const double rate = (seen.consumer.samples > 0 ? 1 : memory_.times.rows) / (sample_ns * 1e-9);  // a second
  return settings[KnobId::kProcesses] / service < kTooFew * rate;
}

/// What is in force changes. What the best settings were worth last counts, where it is much less than before.
void Judge::leave(const Observation& seen) noexcept {
  if (memory_.held == memory_.best) {
    const double last = memory_.own.measure().sample_ns;
    if (memory_.best_step == 0 || last > memory_.best_step * (1 + kKeptShift)) {
      memory_.best_step = last;
      memory_.rough = true;
    }
  }
  memory_.held = seen.settings;
  memory_.held_ns = seen.time_ns;
  memory_.measured = {};
  memory_.own.restart();
}

/// What the settings in force are worth.
void Judge::watch(const Observation& seen) noexcept {
  memory_.times.take(seen, kTimesMemory);
  if (seen.settings != memory_.held) leave(seen);
  memory_.own.add(seen);
  if (memory_.own.complete()) {
    memory_.measured = memory_.own.measure();
    const double step = memory_.measured.sample_ns;
    const bool best = memory_.held == memory_.best;
    const bool long_held = seen.time_ns - memory_.held_ns >= kHeldNs;
    const double margin = memory_.rough ? kPlainlyBetter : kBetter;
    if (long_held && (best || (memory_.best_step > 0 && step < memory_.best_step * (1 - margin)))) {
      know(memory_.held, step);
    }
    memory_.own.restart();
  }
  memory_.stretch.add(seen);
  if (memory_.stretch.complete()) {
    const double step = memory_.stretch.measure().sample_ns;
    const bool slow = memory_.best_step > 0 && step > memory_.best_step * (1 + kMuchSlower);
    memory_.slow_ns = !slow ? 0 : memory_.slow_ns != 0 ? memory_.slow_ns : seen.time_ns;
    memory_.stretch.restart();
  }
}

/// The policy's settings are the best known without a probe, or with half of one.
Ruling Judge::win(const Observation& seen, const Settings& own, double step) noexcept {
  know(own, step);
  verdict_ = Verdict::kUpheld;
  memory_.phase = Phase::kAsks;
  memory_.trying = Trying::kNot;
  wait_twice_as_long(seen);
  return {};
}

Ruling Judge::ask(const Observation& seen, const Limits& limits) noexcept {
  watch(seen);
  const Settings best = fit_settings(memory_.best, limits);
  if (seen.settings == best) {
    if (seen.time_ns - memory_.held_ns >= kHeldNs) {
      memory_.left_ns = 0;
      verdict_ = Verdict::kUpheld;
    }
    return {};
  }
  if (memory_.left_ns == 0) memory_.left_ns = seen.time_ns;
  const bool due = seen.time_ns >= memory_.due_ns && seen.batches >= memory_.due_batches;
  const bool early = memory_.slow_ns != 0 && seen.time_ns >= memory_.early_ns;
  if (!(due || early)) return {};
  // A policy that is on its way somewhere is let go there; one that never stays is held where it is.
  const std::uint64_t since = std::max(memory_.left_ns, due ? memory_.due_ns : memory_.slow_ns);
  if (memory_.measured.step_ns <= 0 && seen.time_ns < since + kRestlessNs) return {};
  memory_.trying = Trying::kWaits;
  if (seen.turn != Turn::kOpen) return {};
  if (too_few(seen, best, memory_.measured.sample_ns)) return win(seen, seen.settings, memory_.measured.sample_ns);
  if (!due) memory_.early_ns = seen.time_ns + doubled(kFirstWaitNs, ++memory_.in_vain);
  ++memory_.probes;
  memory_.probe = Probe(seen, best, memory_.measured);
  memory_.phase = Phase::kProbes;
  return go_on(seen, limits);
}

Ruling Judge::go_on(const Observation& seen, const Limits& limits) noexcept {
  memory_.trying = Trying::kTries;
  memory_.times.take(seen, kTimesMemory);
  const Finding finding = seen.turn == Turn::kTaken ? Finding::kFailed : memory_.probe.look(seen);
  if (finding == Finding::kOpen) {
    const Settings others = fit_settings(memory_.best, limits);
    const bool measured = memory_.probe.wanted() == others && seen.settings == memory_.probe.own();
    if (measured && too_few(seen, others, memory_.probe.own_step())) {
      return win(seen, memory_.probe.own(), memory_.probe.own_step());
    }
    return {.settings = fit_settings(memory_.probe.wanted(), limits),
            .why = Reason("the policy's settings are compared with the best known")};
  }
  memory_.trying = Trying::kNot;
  const double own = memory_.probe.own_step();
  const double others = memory_.probe.others_step();
  wait_twice_as_long(seen);
  if (finding == Finding::kFaster) {
    verdict_ = Verdict::kBeaten;
    memory_.phase = Phase::kKeeps;
    memory_.kept_ns = seen.time_ns;
    know(memory_.best, others);
    memory_.shifted = 0;
    ++memory_.defeats;
    return {.settings = fit_settings(memory_.best, limits),
            .why = Reason::printed("the policy's settings were %.1f %% slower than the best known",
                                   (own / others - 1) * 100)};
  }
  memory_.phase = Phase::kAsks;
  if (finding != Finding::kFailed) verdict_ = Verdict::kUpheld;
  if (finding == Finding::kSlower) know(memory_.probe.own(), own);
  if (finding == Finding::kEven) know(memory_.best, others);
  return {.settings = fit_settings(memory_.probe.own(), limits), .why = Reason("the policy goes on")};
}

Ruling Judge::keep(const Observation& seen, const Limits& limits) noexcept {
  const Settings best = fit_settings(memory_.best, limits);
  const Ruling kept{.settings = best, .why = Reason("the best known settings stay: the policy's were slower")};
  if (seen.settings != best || seen.time_ns - memory_.kept_ns < kJudgeSettleNs) return kept;
  memory_.own.add(seen);
  if (!memory_.own.complete()) return kept;
  const double step = memory_.own.measure().sample_ns;
  memory_.own.restart();
  if (memory_.best_step <= 0) know(best, step);
  const bool shifted = std::abs(step / memory_.best_step - 1) > kKeptShift;
  memory_.shifted = shifted ? memory_.shifted + 1 : 0;
  if (memory_.shifted < kShiftedWindows) return kept;
  if (seen.time_ns - memory_.kept_ns < doubled(kFirstKeptNs, memory_.defeats - 1)) return kept;
  ask_again(seen);
  return {};
}

std::size_t Judge::saved_words() noexcept {
  return (sizeof(JudgeMemory) + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t);
}

std::vector<std::uint64_t> Judge::save() const {
  static_assert(std::is_trivially_copyable_v<JudgeMemory>);
  std::vector<std::uint64_t> words(saved_words());
  std::memcpy(words.data(), &memory_, sizeof(JudgeMemory));
  return words;
}

bool Judge::restore(std::span<const std::uint64_t> saved) noexcept {
  if (saved.size() != saved_words()) return false;
  const auto bytes = std::as_bytes(saved);
  const auto byte = [&](std::size_t offset) { return std::to_integer<unsigned>(bytes[offset]); };
  for (const std::size_t offset :
       {offsetof(JudgeMemory, begun), offsetof(JudgeMemory, event), offsetof(JudgeMemory, rough),
        offsetof(JudgeMemory, own), offsetof(JudgeMemory, stretch)}) {  // a window begins with a bool
    if (byte(offset) > 1) return false;
  }
  if (byte(offsetof(JudgeMemory, phase)) > 2 || byte(offsetof(JudgeMemory, trying)) > 2) return false;
  if (!Probe::is_probe(bytes.data() + offsetof(JudgeMemory, probe))) return false;
  JudgeMemory read;
  std::memcpy(static_cast<void*>(&read), saved.data(), sizeof(JudgeMemory));
  if (read.wait_ns > kMostWaitNs || !read.times.sound()) return false;
  memory_ = read;
  return true;
}

}  // namespace drapps
