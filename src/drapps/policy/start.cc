#include "drapps/policy/start.h"

namespace drapps {

std::optional<Settings> start_depths(Start& start, const Observation& observation, PolicyState& state) {
  if (start.phase == Start::StartPhase::kMeter) {
    const ReadMark now = read_mark(observation);
    if (start.mark.reads == 0 || is_another(now, start.mark)) {
      start.mark = now;
      return std::nullopt;
    }
    const auto metered = meter_reads(start.mark, observation, state.limits);
    if (!metered) return std::nullopt;
    start.metered = *metered;
    start.phase = Start::StartPhase::kMove;
    if (now.refusals > start.mark.refusals) {
      start.phase = Start::StartPhase::kEnded;
      state.say("the storage has refused %llu requests: io_depth stays",
                static_cast<unsigned long long>(now.refusals - start.mark.refusals));
      return observation.settings;
    }
  }
  if (start.phase == Start::StartPhase::kEnded) return std::nullopt;

  const Settings wanted = deep_enough(observation.settings, start.metered, state.limits);
  if (wanted == observation.settings || ++start.asked > kMostAsked) {
    start.phase = Start::StartPhase::kEnded;
    return std::nullopt;
  }
  state.say("%.0f samples/s, whose reads take %.2f ms, are %.1f reads at once", start.metered.rate,
            start.metered.latency_s * 1e3, start.metered.reads());
  return wanted;
}

}  // namespace drapps
