// WebP pixels by libwebp.
#pragma once

#include <cstdint>
#include <span>

#include "drapps/base/result.h"
#include "drapps/decode/arena.h"
#include "drapps/decode/types.h"

namespace drapps::webp {

/// Writes `region` of the stored picture (orientation is the caller's) into `out`, of the region's extent. The picture
/// is decoded whole: libwebp's own cropping smooths chroma differently at the edge of a crop. The pixels pass through
/// `arena`, which is rewound first; libwebp's working memory comes from malloc.
Status read(std::span<const std::uint8_t> bytes, const ImageInfo& info, const Rect& region,
            const DecodeOptions& options, Arena& arena, const ImageView& out);

}  // namespace drapps::webp
