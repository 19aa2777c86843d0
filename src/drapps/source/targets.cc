#include "drapps/source/targets.h"

#include <algorithm>

namespace drapps {

Error count_differs(const std::string& what, std::uint64_t has, std::uint64_t size) {
  return invalid(what + " has " + std::to_string(has) + " entries for " + std::to_string(size) +
                 " records; give one per record");
}

Status Targets::check(std::uint64_t size) const {
  for (const LabelColumn& column : labels) {
    if (column.values.size() != size)
      return count_differs("label column '" + column.name + "'", column.values.size(), size);
  }
  if (!has_boxes()) {
    if (!boxes.empty() || !box_labels.empty()) return invalid("there are boxes but no box_offsets to share them out");
    return ok_status();
  }
  if (box_offsets.size() != size + 1) return count_differs("box_offsets", box_offsets.size() - 1, size);
  if (box_offsets.front() != 0 || box_offsets.back() != boxes.size() ||
      !std::is_sorted(box_offsets.begin(), box_offsets.end())) {
    return invalid("box_offsets must rise from 0 to the number of boxes, which is " + std::to_string(boxes.size()));
  }
  if (box_labels.size() != boxes.size()) {
    return invalid("there are " + std::to_string(box_labels.size()) + " box labels for " +
                   std::to_string(boxes.size()) + " boxes; give one per box");
  }
  return ok_status();
}

}  // namespace drapps
