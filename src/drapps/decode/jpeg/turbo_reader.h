// JPEG pixels by libjpeg-turbo: the accurate integer DCT and smooth upsampling, as Pillow sets them. Any JPEG at all.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "drapps/base/memory_ledger.h"
#include "drapps/base/result.h"
#include "drapps/decode/types.h"

namespace drapps::jpeg {

/// One decompress object, reused from picture to picture. One thread.
class TurboReader {
 public:
  explicit TurboReader(MemoryLedger& ledger);
  ~TurboReader();
  TurboReader(const TurboReader&) = delete;
  TurboReader& operator=(const TurboReader&) = delete;

  /// Writes `region` of the stored picture (orientation is the caller's) into `out`, of the region's extent.
  Status read(std::span<const std::uint8_t> bytes, const ImageInfo& info, const Rect& region, const ImageView& out);

  /// Frees all memory but the object itself.
  void reset() noexcept;

 private:
  struct TurboState;
  std::unique_ptr<TurboState> state_;
};

}  // namespace drapps::jpeg
