#include "drapps/policy/probe.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "drapps/policy/start.h"

namespace drapps {
namespace {

constexpr double kProbeWorth = 0.02;
constexpr double kProbeErrors = 3;
constexpr std::uint32_t kMostLegs = 9;  // A and four times B, A
constexpr std::uint64_t kProbeSettleNs = 500'000'000;
constexpr std::uint64_t kMostSettleNs = 20'000'000'000;
constexpr double kPlainly = 0.1;
constexpr double kElsewhere = 0.5;           // slower than under the same settings before: the effect of something else
constexpr std::uint32_t kPlainlyBlocks = 3;  // of a quarter of a second of steps at least
constexpr std::uint64_t kLegs = 3;           // times the first leg that a leg may take, and kLegNs more
constexpr std::uint64_t kLegNs = 5'000'000'000;

/// The longest clock of the knobs in which two settings differ: so long a move may take to show. Worker processes say
/// themselves when they have come and gone.
std::uint64_t slowest(const Settings& a, const Settings& b) noexcept {
  std::uint64_t period = kProbeSettleNs;
  for (const Knob& knob : knob_table()) {
    if (a[knob.id] != b[knob.id] && knob.id != KnobId::kProcesses) period = std::max(period, knob.clock.period_ns);
  }
  return period;
}

}  // namespace

Probe::Probe(const Observation& seen, const Settings& others, const StepMeasure& own) noexcept
    : own_(seen.settings), others_(others) {
  begin_leg(seen);
  measures_ = true;  // the first leg has nothing to settle
  if (own.step_ns <= 0) return;
  first_ns_ = kLegNs + static_cast<std::uint64_t>(8 * own.step_ns);
  end_leg(own);
  begin_leg(seen);
}

void Probe::begin_leg(const Observation& seen) noexcept {
  began_ns_ = seen.time_ns;
  began_batches_ = seen.batches;
  ready_ = seen.ready_batches;
  asked_ = 0;
  measures_ = false;
  window_.restart();
}

bool Probe::settled(const Observation& seen) noexcept {
  const std::uint64_t waited = seen.time_ns - began_ns_;
  if (waited > kMostSettleNs) return true;
  return waited >= slowest(own_, others_) && seen.processes.starting == 0 && seen.processes.leaving == 0 &&
         seen.batches - began_batches_ > ready_;
}

Finding Probe::look(const Observation& seen) noexcept {
  if (seen.time_ns < began_ns_ || seen.batches < began_batches_) return Finding::kFailed;  // another plant
  if (seen.settings != wanted()) {
    if (++asked_ > kMostAsked) return Finding::kFailed;
    began_ns_ = seen.time_ns;
    began_batches_ = seen.batches;
    ready_ = seen.ready_batches;
    return Finding::kOpen;
  }
  const std::uint64_t longest = kLegs * first_ns_ + kLegNs + slowest(own_, others_);
  if (leg_ > 0 && seen.time_ns - began_ns_ > longest) return Finding::kFailed;
  if (!measures_) {
    measures_ = settled(seen);
    if (!measures_) return Finding::kOpen;
  }
  window_.add(seen);
  const StepMeasure measure = window_.measure();
  const bool theirs = leg_ % 2 != 0;
  if (theirs && window_.blocks() >= kPlainlyBlocks && measure.sample_ns > own_step() * (1 + kPlainly)) {
    return Finding::kSlower;
  }
  if (leg_ > 0 && !theirs && window_.blocks() >= kPlainlyBlocks && measure.sample_ns > own_step() * (1 + kElsewhere)) {
    return Finding::kFailed;
  }
  if (!window_.complete()) return Finding::kOpen;
  if (leg_ == 0) first_ns_ = seen.time_ns - began_ns_;
  const bool back = leg_ > 0 && !theirs;
  end_leg(measure);
  const Finding finding = back ? find() : Finding::kOpen;
  if (finding == Finding::kOpen && leg_ == kMostLegs) return Finding::kEven;
  begin_leg(seen);
  return finding;
}

void Probe::end_leg(const StepMeasure& measure) noexcept {
  Legs& legs = legs_[leg_ % 2];
  legs.count += 1;
  legs.sum += measure.sample_ns;
  legs.squares += measure.sample_ns * measure.sample_ns;
  legs.errors += measure.sample_ns * measure.error * measure.sample_ns * measure.error;
  ++leg_;
}

double Probe::mean(std::size_t side) const noexcept {
  return legs_[side].count > 0 ? legs_[side].sum / legs_[side].count : 0;
}

double Probe::variance(std::size_t side) const noexcept {
  const Legs& legs = legs_[side];
  double variance = legs.errors / (legs.count * legs.count);
  if (legs.count > 1) {
    const double apart = legs.squares / legs.count - mean(side) * mean(side);
    variance += std::max(0.0, apart) / (legs.count - 1);
  }
  return variance;
}

Finding Probe::find() const noexcept {
  const double own = mean(0);
  const double others = mean(1);
  const double difference = own - others;
  if (std::abs(difference) <= kProbeWorth * own) return Finding::kEven;
  if (std::abs(difference) <= kProbeErrors * std::sqrt(variance(0) + variance(1))) return Finding::kOpen;
  return difference > 0 ? Finding::kFaster : Finding::kSlower;
}

bool Probe::is_probe(const std::byte* bytes) noexcept {
  // Both are bools; a window begins with one.
  return std::to_integer<unsigned>(bytes[offsetof(Probe, window_)]) <= 1 &&
         std::to_integer<unsigned>(bytes[offsetof(Probe, measures_)]) <= 1;
}

}  // namespace drapps
