#include "drapps/policy/signals.h"

#include <bit>
#include <cmath>

namespace drapps {
namespace {

bool in_order(const Spread& spread) noexcept {
  return spread.p50 <= spread.p90 && spread.p90 <= spread.p99 && spread.p99 <= spread.most;
}

/// What cannot be, whatever came before; null where all can.
const char* contradiction(const Observation& seen) noexcept {
  const Upcoming& upcoming = seen.upcoming;
  if (upcoming.sized > upcoming.samples || upcoming.seen > upcoming.samples || upcoming.indexed > upcoming.samples) {
    return "more is known of the samples to come than there are";
  }
  bool ordered = in_order(seen.consumer.step) && in_order(seen.consumer.stall) && in_order(seen.storage.at_once) &&
                 in_order(seen.storage.waited);
  for (const LaneObservation& lane : seen.lanes) {
    ordered = ordered && in_order(lane.service_wall) && in_order(lane.service_cpu) && in_order(lane.queue_length) &&
              in_order(lane.wait);
  }
  return ordered ? nullptr : "quantiles are out of order";
}

}  // namespace

Hold Signals::check(const Observation& observation, std::uint64_t now_ns, Reason& fault) noexcept {
  if (observation.time_ns == 0) {
    fault = Reason("the observation is missing");
    return Hold::kStale;
  }
  const ObservationWords words = words_of(observation);
  const bool frozen = seen_ && words[0] == before_[0];
  const bool is_broken = broken(observation, words, fault);
  before_ = words;
  seen_ = true;
  if (is_broken) return Hold::kBroken;
  if (observation.time_ns > now_ns) {
    fault = Reason("the observation is of a time to come");
    return Hold::kBroken;
  }
  if (frozen) {
    fault = Reason("the observation is that of the decision before");
    return Hold::kStale;
  }
  if (now_ns - observation.time_ns > kStaleNs) {
    fault = Reason::printed("the observation is %.1f s old", static_cast<double>(now_ns - observation.time_ns) * 1e-9);
    return Hold::kStale;
  }
  return Hold::kNone;
}

bool Signals::broken(const Observation& observation, const ObservationWords& words, Reason& fault) const noexcept {
  const std::vector<FieldDescription>& fields = observation_fields();
  for (std::size_t at = 0; at < words.size(); ++at) {
    const FieldDescription& field = fields[at];
    if (field.real && !(std::isfinite(std::bit_cast<double>(words[at])) && std::bit_cast<double>(words[at]) >= 0)) {
      fault = Reason::printed("%s is no number that can be", field.name.c_str());
      return true;
    }
    // The counts of a lane outside the plan may be absent, and go on when it returns.
    const bool in_use = field.info.lane == kLanes.size() || observation.lanes[field.info.lane].valid;
    if (!seen_ || field.info.number.kind != NumberKind::kCounter || !in_use || words[at] >= before_[at]) continue;
    fault = Reason::printed("%s ran backwards", field.name.c_str());
    return true;
  }
  const char* const why = contradiction(observation);
  if (why != nullptr) fault = Reason(why);
  return why != nullptr;
}

}  // namespace drapps
