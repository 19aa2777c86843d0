// Which pieces of documents stand in which row, of a block of them.
#pragma once

#include <cstdint>
#include <vector>

#include "drapps/text/pack/packing.h"

namespace drapps::text {

/// The places of the pieces of each row, by their lengths. Rows come in the order of the first piece that they have,
/// and pieces in a row in their own.
using Arrangement = std::vector<std::vector<std::uint32_t>>;

/// Pieces go into rows, the longest first, each into the fullest row that has room for it (best fit decreasing;
/// D. S. Johnson, "Near-optimal bin packing algorithms", MIT 1973); of equally long ones that which comes first. None
/// is above `room`.
Arrangement best_fit(const std::vector<std::uint32_t>& lengths, std::uint32_t room);

/// Pieces become batches of equally wide rows: the longest first, as many in each as the budget has room for at the
/// width of the longest, which it has at least once.
Arrangement by_budget(const std::vector<std::uint32_t>& lengths, std::uint64_t budget, const Widths& widths);

}  // namespace drapps::text
