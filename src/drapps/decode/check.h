// Checks that every format makes before any memory is taken.
#pragma once

#include <cstdint>

#include "drapps/base/result.h"
#include "drapps/decode/types.h"

namespace drapps {

/// kCorrupt for a picture without pixels, kTooLarge for one above the limit. `at`: the byte that gave the size.
Status check_extent(const Extent& extent, const DecodeOptions& options, std::int64_t at);

/// kInvalidArgument unless `region` is a non-empty part of a picture of that extent.
Status check_region(const Rect& region, const Extent& extent);

}  // namespace drapps
