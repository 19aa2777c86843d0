// PNG pixels by libpng.
#pragma once

#include <cstdint>
#include <span>

#include "drapps/base/result.h"
#include "drapps/decode/arena.h"
#include "drapps/decode/types.h"

namespace drapps::png {

/// Writes `region` of the stored picture (orientation is the caller's) into `out`, of the region's extent. All rows are
/// inflated whatever the region is, so that the verdict is the whole file's. All memory comes from `arena`, which is
/// rewound first.
Status read(std::span<const std::uint8_t> bytes, const ImageInfo& info, const Rect& region,
            const DecodeOptions& options, Arena& arena, const ImageView& out);

}  // namespace drapps::png
