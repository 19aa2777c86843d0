#include "drapps/text/unicode/classes.h"

#include <vector>

#include "drapps/base/never_destroyed.h"
#include "drapps/text/unicode/runs.h"

namespace drapps::text {

const std::uint8_t* class_table() noexcept {
  static const NeverDestroyed<std::vector<std::uint8_t>> table(expand_runs(kClassRuns));
  return (*table).data();
}

}  // namespace drapps::text
