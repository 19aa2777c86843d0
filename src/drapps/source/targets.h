// What stands beside the parts of records: columns of int64 labels, and boxes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "drapps/base/result.h"
#include "drapps/data/picture.h"

namespace drapps {

struct LabelColumn {
  std::string name;
  std::vector<std::int64_t> values;  // one per record
};

/// Targets of all records. Boxes are in CSR form: record i has boxes [box_offsets[i], box_offsets[i + 1]).
struct Targets {
  std::vector<LabelColumn> labels;
  std::vector<std::uint64_t> box_offsets;  // size + 1 entries, or none where records have no boxes
  std::vector<Box> boxes;                  // pixels of the whole image
  std::vector<std::int64_t> box_labels;    // as many as boxes

  bool has_boxes() const noexcept { return !box_offsets.empty(); }
  /// kInvalidArgument naming the first column that does not fit `size` records.
  Status check(std::uint64_t size) const;
};

/// The boxes of one record.
struct BoxRange {
  std::span<const Box> boxes;
  std::span<const std::int64_t> labels;
};

/// What is said of a list that has not one entry for each of `size` records.
Error count_differs(const std::string& what, std::uint64_t has, std::uint64_t size);

}  // namespace drapps
