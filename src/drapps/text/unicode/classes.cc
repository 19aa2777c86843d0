#include "drapps/text/unicode/classes.h"

#include <algorithm>
#include <vector>

#include "drapps/base/never_destroyed.h"

namespace drapps::text {
namespace {

constexpr std::uint32_t kCodePoints = 0x110000;

std::vector<std::uint8_t> expand() {
  std::vector<std::uint8_t> table(kCodePoints);
  for (std::size_t i = 0; i < kClassRuns.size(); ++i) {
    const std::uint32_t end = i + 1 < kClassRuns.size() ? kClassRuns[i + 1] >> 8 : kCodePoints;
    std::fill(table.begin() + (kClassRuns[i] >> 8), table.begin() + end, static_cast<std::uint8_t>(kClassRuns[i]));
  }
  return table;
}

}  // namespace

const std::uint8_t* class_table() noexcept {
  static const NeverDestroyed<std::vector<std::uint8_t>> table(expand());
  return (*table).data();
}

}  // namespace drapps::text
