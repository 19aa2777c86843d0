#include "drapps/policy/probe.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace drapps {
namespace {

constexpr double kWorth = 0.02;
constexpr double kErrors = 3;
constexpr std::uint32_t kMostLegs = 9;  // A and four times B, A
constexpr std::uint32_t kMostAsked = 30;
constexpr std::uint64_t kSettleNs = 1'000'000'000;
constexpr std::uint64_t kMostSettleNs = 20'000'000'000;

/// The longest clock of the knobs in which two settings differ: so long a move may take to show.
std::uint64_t slowest(const Settings& a, const Settings& b) noexcept {
  std::uint64_t period = kSettleNs;
  for (const Knob& knob : knob_table()) {
    if (a[knob.id] != b[knob.id]) period = std::max(period, knob.clock.period_ns);
  }
  return period;
}

}  // namespace

Probe::Probe(const Observation& seen, const Settings& others) noexcept : own_(seen.settings), others_(others) {
  begin_leg(seen);
  measures_ = true;  // the first leg has nothing to settle
}

void Probe::begin_leg(const Observation& seen) noexcept {
  began_ns_ = seen.time_ns;
  began_batches_ = seen.batches;
  asked_ = 0;
  measures_ = false;
  window_.restart();
}

bool Probe::settled(const Observation& seen) noexcept {
  const std::uint64_t waited = seen.time_ns - began_ns_;
  if (waited > kMostSettleNs) return true;
  const std::int32_t ahead = std::max(own_[KnobId::kPrefetchDepth], others_[KnobId::kPrefetchDepth]);
  return waited >= slowest(own_, others_) && seen.processes.starting == 0 && seen.processes.leaving == 0 &&
         seen.batches - began_batches_ > static_cast<std::uint64_t>(std::max(0, ahead));
}

Finding Probe::look(const Observation& seen) noexcept {
  if (seen.time_ns < began_ns_ || seen.batches < began_batches_) return Finding::kFailed;  // another plant
  if (seen.settings != wanted()) {
    if (++asked_ > kMostAsked) return Finding::kFailed;
    began_ns_ = seen.time_ns;
    began_batches_ = seen.batches;
    return Finding::kOpen;
  }
  if (!measures_) {
    measures_ = settled(seen);
    if (!measures_) return Finding::kOpen;
  }
  window_.add(seen);
  if (!window_.complete()) return Finding::kOpen;
  const StepMeasure measure = window_.measure();
  Legs& legs = legs_[leg_ % 2];
  legs.count += 1;
  legs.sum += measure.step_ns;
  legs.squares += measure.step_ns * measure.step_ns;
  legs.errors += measure.step_ns * measure.error * measure.step_ns * measure.error;
  const bool again = leg_ + 1 < kMostLegs;
  const Finding finding = leg_ % 2 == 0 && leg_ > 0 ? find() : Finding::kOpen;
  if (finding != Finding::kOpen || !again) return finding == Finding::kOpen ? Finding::kEven : finding;
  ++leg_;
  begin_leg(seen);
  return Finding::kOpen;
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
  if (std::abs(difference) <= kWorth * own) return Finding::kEven;
  if (std::abs(difference) <= kErrors * std::sqrt(variance(0) + variance(1))) return Finding::kOpen;
  return difference > 0 ? Finding::kFaster : Finding::kSlower;
}

bool Probe::is_probe(const std::byte* bytes) noexcept {
  // Both are bools; a window begins with one.
  return std::to_integer<unsigned>(bytes[offsetof(Probe, window_)]) <= 1 &&
         std::to_integer<unsigned>(bytes[offsetof(Probe, measures_)]) <= 1;
}

}  // namespace drapps
