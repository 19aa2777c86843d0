#include "drapps/plant/policy.h"

namespace drapps {

std::string_view name_of(Hold hold) noexcept {
  switch (hold) {
    case Hold::kNone: return "";
    case Hold::kNotch: return "one notch at a time";
    case Hold::kClock: return "moved a moment ago";
    case Hold::kCoolDown: return "cooling down";
    case Hold::kBudget: return "the budget ends here";
    case Hold::kStale: return "the signals are stale";
    case Hold::kBroken: return "the signals are broken";
  }
  return "unknown";
}

}  // namespace drapps
