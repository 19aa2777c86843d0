#include "drapps/meter/rate.h"

#include <utility>

namespace drapps {

Reading Rate::read(std::optional<std::uint64_t> count, std::uint64_t now_ns) noexcept {
  const std::optional<std::uint64_t> before = before_;
  // Two looks at one moment are one: the next rate is over the time since the first of them.
  if (before && count && *count >= *before && now_ns == before_ns_) return {};
  before_ = count;
  const std::uint64_t before_ns = std::exchange(before_ns_, now_ns);
  if (!before || !count || *count < *before || now_ns <= before_ns) return {};
  const double seconds = 1e-9 * static_cast<double>(now_ns - before_ns);
  return reading(scale_ * static_cast<double>(*count - *before) / seconds, now_ns);
}

}  // namespace drapps
