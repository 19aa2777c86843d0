#include "drapps/plant/policy.h"

#include <cstdio>

namespace drapps {

Reason Reason::format(const char* format, std::va_list values) noexcept {
  char text[kReasonBytes + 1];
  std::vsnprintf(text, sizeof text, format, values);
  return {text};
}

Reason Reason::printed(const char* format, ...) noexcept {
  std::va_list values;
  va_start(values, format);
  const Reason reason = Reason::format(format, values);
  va_end(values);
  return reason;
}

void PolicyState::say(const char* format, ...) noexcept {
  std::va_list values;
  va_start(values, format);
  why = Reason::format(format, values);
  va_end(values);
}

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
