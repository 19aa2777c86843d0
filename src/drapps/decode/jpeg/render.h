// Coefficients to pixels, one row of MCUs after the other, for a part of the picture only.
//
// 1. The part asked for is widened by the one sample of chroma that smooth upsampling looks at, and from there to whole
//    MCUs. Everything else is left out: no inverse transform, no colours.
// 2. A row of MCUs is transformed some MCUs at a time into planes that stay in the nearest cache, then upsampled and
//    turned to RGB a row of pixels at a time.
// 3. Where chroma is subsampled downwards, the last row of pixels waits for the row of MCUs below.
#pragma once

#include "drapps/base/memory_ledger.h"
#include "drapps/base/result.h"
#include "drapps/data/buffer.h"
#include "drapps/data/image.h"
#include "drapps/decode/jpeg/blocks.h"
#include "drapps/decode/jpeg/frame.h"
#include "drapps/kernel/level.h"

namespace drapps::jpeg {

/// Pixels equal libjpeg-turbo's. One thread; memory is charged to the ledger and kept.
class Renderer {
 public:
  explicit Renderer(MemoryLedger& ledger, kernel::Level level = kernel::active_level()) noexcept
      : memory_(ledger), level_(level) {}

  enum class RenderOutcome : std::uint8_t { kDone, kBadBlocks };

  /// Writes `region` of the picture to `out`, of the region's extent with three planes (RGB; gray is repeated) or one
  /// (gray, or what Pillow's convert("L") makes of RGB; or the file's own luma). kResourceExhausted as Buffer::ensure.
  Result<RenderOutcome> render(const Frame& frame, const Rect& region, BlockSource& blocks, const ImageView& out,
                               bool luma = false);

  void reset() noexcept { memory_.reset(); }

 private:
  Buffer memory_;
  kernel::Level level_;
};

}  // namespace drapps::jpeg
