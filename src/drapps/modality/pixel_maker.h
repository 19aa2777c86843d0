// Pictures whose pixels are made when somebody asks for them: of the bytes of a JPEG, or of planes that were made of it
// before. A front that answers for a picture library keeps a source and what is to be read of it, and has no more made
// than that.
//
//   auto sound = maker.judge(file);
//   const PixelSource source{.file = file, .jpeg = **sound, .planes = {}, .index = {}};
//   auto view = maker.resize(source, {.rect = crop}, {.extent = {224, 224}, .box = {}});
//
// Pixels equal Pillow's byte for byte: those of its decoder, convert("L"), transpose() and resize().
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "drapps/base/memory_ledger.h"
#include "drapps/base/result.h"
#include "drapps/data/image.h"
#include "drapps/data/picture.h"
#include "drapps/decode/decoder.h"
#include "drapps/decode/jpeg/index.h"
#include "drapps/kernel/normalize.h"
#include "drapps/kernel/resize.h"

namespace drapps {

/// What pixels are made of. It owns nothing.
struct PixelSource {
  std::span<const std::uint8_t> file;  // of a JPEG that judge() has found sound; empty where there are planes
  SoundJpeg jpeg;                      // what it has found
  ImageView planes;                    // one or three, which are only read
  jpeg::IndexUse index;                // where decoding keeps what it learns of the file; nowhere without a store

  std::int32_t channels() const noexcept { return file.empty() ? planes.channels : jpeg.channels; }
  Extent extent() const noexcept { return file.empty() ? Extent{planes.height, planes.width} : jpeg.info.extent; }
};

/// A part of a source, and how it is turned.
struct PixelPart {
  Rect rect;                     // of the source as it is stored
  std::uint8_t orientation = 1;  // as EXIF counts them: what is done to turn the rectangle upright
  bool gray = false;             // one plane, as convert("L") makes it of three
  bool luma = false;             // of a file in colour: one plane, as libjpeg makes it gray
};

/// What a part is resized to.
struct PixelTarget {
  Extent extent;
  kernel::Filter filter = kernel::Filter::kBilinear;
  kernel::PassOrder order = kernel::PassOrder::kHorizontalFirst;
  std::optional<kernel::ResizeBox> box;  // of a picture of which the part, once it is turned, is what the box reads
};

/// Three channels of pixels in somebody's array. Those of a row follow each other, each by itself (kNchw) or together.
struct ArrayPixels {
  const std::uint8_t* data = nullptr;
  Extent extent;
  Layout layout = Layout::kNchw;
  std::ptrdiff_t row_stride = 0;
  std::ptrdiff_t plane_stride = 0;  // of kNchw
};

/// For one thread at a time. All memory is charged to the ledger and kept from picture to picture.
class PixelMaker {
 public:
  explicit PixelMaker(MemoryLedger& ledger)
      : decoder_(ledger), decoded_(ledger), gray_(ledger), turned_(ledger), resized_(ledger), resizer_(ledger) {}

  /// As Decoder::judge.
  Result<std::optional<SoundJpeg>> judge(std::span<const std::uint8_t> file) { return decoder_.judge(file); }

  /// The pixels of a part: a view of the source's memory, or of this object's until the next call. kInvalidArgument
  /// for a part that is empty or does not lie within the source, or an orientation that is none of 1 … 8;
  /// kResourceExhausted without memory.
  Result<ImageView> make(const PixelSource& source, const PixelPart& part);
  /// The pixels of a part as make() gives them, then resized; kInvalidArgument for an empty target, too, and for
  /// another part than a box reads.
  Result<ImageView> resize(const PixelSource& source, const PixelPart& part, const PixelTarget& target);
  /// Resizes as PyTorch's interpolate(antialias=True) does tensors of bytes, into an array of that layout whose rows
  /// and planes follow each other. kInvalidArgument for an empty picture; kResourceExhausted without memory.
  Status resize_array(const ArrayPixels& in, Extent extent, kernel::Filter filter, Layout layout, std::uint8_t* out);
  /// Writes (x / 255 - mean[c]) / std[c] of a picture as torchvision does: pixel after pixel, x scaled as its
  /// v2.ToDtype (kNhwc), or plane after plane, x scaled as its ToTensor (kNchw). Of one plane as many equal channels as
  /// there are means. kInvalidArgument as Normalizer::standard, and for other channels than the picture has.
  Status normalize(ConstImageView in, std::span<const float> mean, std::span<const float> std, Layout layout,
                   float* out);

 private:
  Result<ImageView> stored(const PixelSource& source, const PixelPart& part);

  Decoder decoder_;
  ImageBuffer decoded_;
  ImageBuffer gray_;
  ImageBuffer turned_;
  ImageBuffer resized_;
  kernel::Resizer resizer_;
  /// What the last picture of a layout was normalised with.
  struct Normalization {
    std::vector<float> numbers;  // means, and deviations
    std::optional<kernel::Normalizer> normalizer;
  };
  Normalization interleaved_, planar_;
};

/// Bytes of a picture whose pixels lie one after another.
constexpr std::size_t interleaved_size(Extent extent, std::int32_t pixel_bytes) noexcept {
  return static_cast<std::size_t>(extent.height) * static_cast<std::size_t>(extent.width) *
         static_cast<std::size_t>(pixel_bytes);
}

/// Writes the pixels of one or three planes one after another, `pixel_bytes` each: 1, of one plane; 3, R, G and B,
/// which are equal where there is one plane; 4, the same with `fourth` behind them.
/// @param out  interleaved_size() bytes.
void interleave(ConstImageView in, std::int32_t pixel_bytes, std::uint8_t fourth, std::span<std::uint8_t> out);

/// Writes x / 255 plane after plane, as torchvision's to_tensor does: as many planes as there are, or three equal ones
/// of one.
void divide_by_255(ConstImageView in, std::int32_t channels, float* out);

/// Writes x · (1 / 255 rounded to float32), as torchvision's v2.ToDtype does it.
/// @param out  as many numbers.
void scale_bytes(std::span<const std::uint8_t> in, float* out) noexcept;

/// Writes the three channels of `pixels`, which lie together, one after the other.
/// @param out  as many numbers.
void separate(std::span<const float> pixels, float* out) noexcept;

}  // namespace drapps
