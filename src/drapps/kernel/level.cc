#include "drapps/kernel/level.h"

#include <algorithm>
#include <array>
#include <cstdlib>

namespace drapps::kernel {
namespace {

constexpr std::array kLevels{Level::kPortable, Level::kAvx2, Level::kAvx512, Level::kAvx512Vbmi};

Level best_of_cpu() noexcept {
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
                    __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
  if (!avx2) return Level::kPortable;
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
  if (!avx512) return Level::kAvx2;
  const bool vbmi = __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2") &&
                    __builtin_cpu_supports("avx512vnni");
  return vbmi ? Level::kAvx512Vbmi : Level::kAvx512;
}

Level lowered_by_environment(Level best) noexcept {
  const char* wish = std::getenv("DRAPPS_SIMD");  // NOLINT(concurrency-mt-unsafe): once, under a static's guard
  if (wish == nullptr) return best;
  for (const Level level : kLevels) {
    if (name_of(level) == wish) return std::min(level, best);
  }
  return best;
}

}  // namespace

Level active_level() noexcept {
  static const Level level = lowered_by_environment(best_of_cpu());
  return level;
}

std::span<const Level> supported_levels() noexcept {
  static const auto count = static_cast<std::size_t>(best_of_cpu()) + 1;
  return std::span(kLevels).first(count);
}

std::string_view name_of(Level level) noexcept {
  switch (level) {
    case Level::kPortable: return "portable";
    case Level::kAvx2: return "avx2";
    case Level::kAvx512: return "avx512";
    case Level::kAvx512Vbmi: return "avx512vbmi";
  }
  return "unknown";
}

}  // namespace drapps::kernel
