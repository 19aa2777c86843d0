// JPEG pixels: by the decoder of this folder where the file is one for it, by libjpeg-turbo otherwise. The same pixels
// and the same verdicts either way.
#pragma once

#include <cstdint>
#include <span>

#include "drapps/base/memory_ledger.h"
#include "drapps/base/result.h"
#include "drapps/decode/jpeg/index.h"
#include "drapps/decode/jpeg/render.h"
#include "drapps/decode/jpeg/scan_reader.h"
#include "drapps/decode/jpeg/turbo_reader.h"
#include "drapps/decode/types.h"

namespace drapps::jpeg {

/// One thread; memory is charged to the ledger and kept from picture to picture.
class JpegReader {
 public:
  explicit JpegReader(MemoryLedger& ledger, kernel::Level level = kernel::active_level())
      : scan_(ledger, level), renderer_(ledger, level), turbo_(ledger) {}

  /// Writes `region` of the stored picture (orientation is the caller's) into `out`, of the region's extent.
  /// @param memory  null, or what is to be learnt of the file and used the next time.
  Status read(std::span<const std::uint8_t> bytes, const ImageInfo& info, const Rect& region, const ImageView& out,
              const IndexUse* memory = nullptr);

  /// 1 or 3 for a regular file that libjpeg cannot refuse, since its headers, tables and the order of its markers are
  /// right: damage of entropy-coded data only makes it warn. 0 for any other, which libjpeg may refuse or not.
  Result<std::int32_t> channels_for_certain(std::span<const std::uint8_t> bytes, const ImageInfo& info);

  /// Frees all memory.
  void reset() noexcept;

 private:
  Result<bool> try_read(std::span<const std::uint8_t> bytes, const ImageInfo& info, const Rect& region,
                        const ImageView& out, const IndexUse* memory);

  ScanReader scan_;
  Renderer renderer_;
  TurboReader turbo_;
  ScanIndex index_;  // of the picture at hand
};

}  // namespace drapps::jpeg
