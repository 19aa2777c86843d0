// JPEGs decoded on a device, some at a time: crops of the pixels that decode/jpeg/ makes of them, byte for byte.
//
//   decoder->clear();
//   decoder->add(bytes, info, region, index);     // for each picture; what is not taken is the CPU's
//   decoder->launch(*stream);
//   stream->record(*event); event->wait();
//   if (!decoder->right(i)) ...                   // another picture's index, or a damaged file: the CPU's
//
// All memory is taken once, and bounds what may be under way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "drapps/base/memory_ledger.h"
#include "drapps/base/result.h"
#include "drapps/device/device.h"
#include "drapps/device/jpeg_list.h"

namespace drapps::device {

/// Used by one thread at a time. While a launch is under way nothing may be called but pixels(). Its memory, twice
/// bounds.input and once bounds.work, is in no ledger: whoever makes it accounts for it.
class JpegDecoder {
 public:
  /// Where pixels lie on the device: [rows][width][channels] of each picture, `row_bytes` apart.
  struct Pixels {
    const std::uint8_t* first = nullptr;
    Extent extent;
    std::int64_t row_bytes = 0;  // the same for all pictures of a launch
  };

  /// kResourceExhausted where the device has not that much memory, and other errors of the device.
  /// @param device    outlives the decoder, as does the ledger.
  /// @param channels  3 for RGB, as Pillow's convert("RGB") makes it; 1 for gray, as convert("L") does.
  static Result<std::unique_ptr<JpegDecoder>> make(Device& device, MemoryLedger& ledger, std::int32_t channels,
                                                   const JpegBounds& bounds = {});

  void clear() noexcept { list_.clear(); }
  /// As JpegList::add().
  Result<JpegTaken> add(std::span<const std::uint8_t> bytes, const ImageInfo& info, const Rect& region,
                        const jpeg::IndexUse& index) {
    return list_.add(input_.data(), bytes, info, region, index);
  }
  std::size_t pictures() const noexcept { return list_.pictures(); }

  /// Begins to decode what was added.
  Status launch(Stream& stream);
  /// The pixels of picture i; there when what was launched has ended, and until the next launch.
  Pixels pixels(std::size_t i) const noexcept;
  /// Whether pixels(i) are those of picture i; known when what was launched has ended.
  bool right(std::size_t i) const noexcept;

 private:
  JpegDecoder(MemoryLedger& ledger, std::int32_t channels, const JpegBounds& bounds)
      : list_(ledger, channels, bounds) {}

  JpegList list_;
  Memory input_, there_, work_, verdicts_;
  const std::uint8_t* pixels_ = nullptr;
};

}  // namespace drapps::device
