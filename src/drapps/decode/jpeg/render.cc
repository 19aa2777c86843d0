#include "drapps/decode/jpeg/render.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "drapps/decode/jpeg/part.h"
#include "drapps/kernel/color.h"
#include "drapps/kernel/jpeg/idct.h"
#include "drapps/kernel/jpeg/upsample.h"
#include "drapps/kernel/jpeg/ycc.h"

namespace drapps::jpeg {
namespace {

using kernel::jpeg::BlockTargets;
using kernel::jpeg::kBlock;

// MCUs transformed at a time: their coefficients stay in the first cache.
constexpr std::int32_t kChunk = 16;

// Rows of MCUs in a strip at most.
constexpr std::int32_t kRows = 2;

constexpr auto kUnit = static_cast<std::int32_t>(kAlignment);

/// The planes of one or two rows of MCUs, and of the row of pixels above them.
class Strip {
 public:
  Strip(const Frame& frame, const Rect& region, const ImageView& out, bool luma, kernel::Level level)
      : frame_(frame),
        components_(luma ? 1 : frame.components),
        region_(region),
        out_(out),
        level_(level),
        part_(frame, region),
        y_(region.top) {
    std::size_t blocks = 0;
    for (std::int32_t c = 0; c < frame.components; ++c) {
      Plane& plane = planes_[static_cast<std::size_t>(c)];
      plane.sampling = c == 0 ? frame.sampling : Sampling{};
      plane.left = 8 * plane.sampling.across * part_.columns.begin;
      plane.stride = kUnit + (8 * plane.sampling.across * part_.columns.size() + kUnit) / kUnit * kUnit;
      plane.offset = bytes_;
      bytes_ += static_cast<std::size_t>(plane.stride * (kRows * 8 * plane.sampling.down + 1));
      plane.block = blocks;
      blocks += static_cast<std::size_t>(plane.sampling.across * plane.sampling.down * kChunk);
    }
    temporary_ = bytes_;
    temporary_stride_ = (frame.mcu_width() * part_.columns.size() + kUnit - 1) / kUnit * kUnit;
    bytes_ += static_cast<std::size_t>(5 * temporary_stride_);
    coefficients_ = bytes_;
    row_size_ = blocks * kBlock;
    bytes_ += kRows * row_size_ * sizeof(std::int16_t);
  }

  const McuPart& part() const { return part_; }
  std::size_t bytes() const { return bytes_; }
  void place_at(std::uint8_t* memory) { memory_ = memory; }

  /// Where a BlockSource puts `kChunk` MCUs of row `i` of the strip.
  BlockTargets targets(std::int32_t i) const {
    BlockTargets targets;
    std::size_t b = 0;
    for (std::int32_t c = 0; c < frame_.components; ++c) {
      const Sampling sampling = plane(c).sampling;
      for (std::int32_t v = 0; v < sampling.down; ++v) {
        for (std::int32_t h = 0; h < sampling.across; ++h, ++b) {
          targets.at[b] = coefficients(i, c, v) + h * static_cast<std::int32_t>(kBlock);
          targets.step[b] = sampling.across * static_cast<std::ptrdiff_t>(kBlock);
        }
      }
    }
    return targets;
  }

  /// Goes on to rows of MCUs [row, row + rows), of which the picture may have one less.
  void begin(std::int32_t row, std::int32_t rows) {
    for (std::int32_t c = 0; c < components_ && rows_ != 0 && part_.smooth_down; ++c) {
      const std::int32_t left = plane(c).left - kUnit, last = top(c) + height(c) - 1;
      std::memcpy(at(c, top(c) - 1, left), at(c, last, left), static_cast<std::size_t>(plane(c).stride));
    }
    row_ = row;
    rows_ = rows;
  }

  /// Makes pixels of `count` MCUs of row `i` of the strip, from MCU `first` on, whose coefficients are in targets(i).
  void transform(std::int32_t i, std::int32_t first, std::int32_t count) const {
    for (std::int32_t c = 0; c < components_; ++c) {
      const Sampling sampling = plane(c).sampling;
      for (std::int32_t v = 0; v < sampling.down; ++v) {
        kernel::jpeg::inverse_dct(at(c, top(c) + 8 * (i * sampling.down + v), 8 * sampling.across * first),
                                  plane(c).stride, coefficients(i, c, v),
                                  static_cast<std::size_t>(sampling.across) * static_cast<std::size_t>(count),
                                  frame_.component[static_cast<std::size_t>(c)].quant.data(), level_);
      }
    }
  }

  /// Writes all rows of pixels that are complete.
  void finish() {
    if (part_.smooth_across) extend_edges();
    std::int32_t end = region_.top + region_.height;
    const std::int32_t next = row_ + rows_;
    if (next < part_.rows.end) end = next * frame_.mcu_height() - (part_.smooth_down ? 1 : 0);
    for (; y_ < end; ++y_) write(y_);
  }

 private:
  struct Plane {
    Sampling sampling;      // blocks in an MCU
    std::int32_t left = 0;  // first column decoded
    std::int32_t stride = 0;
    std::size_t offset = 0;
    std::size_t block = 0;  // first of its coefficients
  };

  const Plane& plane(std::int32_t c) const { return planes_[static_cast<std::size_t>(c)]; }
  std::int32_t top(std::int32_t c) const { return 8 * plane(c).sampling.down * row_; }
  std::int32_t height(std::int32_t c) const { return 8 * plane(c).sampling.down * rows_; }

  /// Sample (y, x) of a component's plane of the picture, which is in the strip, above it, or a column beside it.
  std::uint8_t* at(std::int32_t c, std::int32_t y, std::int32_t x) const {
    const Plane& p = plane(c);
    return memory_ + p.offset + (y - top(c) + 1) * p.stride + kUnit + (x - p.left);
  }
  std::int16_t* coefficients(std::int32_t i, std::int32_t c, std::int32_t v) const {
    const Plane& p = plane(c);
    return reinterpret_cast<std::int16_t*>(memory_ + coefficients_) + static_cast<std::size_t>(i) * row_size_ +
           (p.block + static_cast<std::size_t>(v * p.sampling.across * kChunk)) * kBlock;
  }
  std::uint8_t* temporary(std::int32_t i) const { return memory_ + temporary_ + i * temporary_stride_; }

  /// Sets the samples of chroma beside the picture to its outermost ones.
  void extend_edges() const {
    const std::int32_t end = part_.chroma.width;
    for (std::int32_t c = 1; c < components_; ++c) {
      for (std::int32_t y = top(c); y < top(c) + height(c); ++y) {
        if (plane(c).left == 0) *at(c, y, -1) = *at(c, y, 0);
        if (8 * part_.columns.end >= end) *at(c, y, end) = *at(c, y, end - 1);
      }
    }
  }

  /// Row y of a component of chroma at full resolution, from the region's first column on.
  const std::uint8_t* chroma_row(std::int32_t c, std::int32_t y) const {
    const auto [across, down] = frame_.sampling;
    const std::int32_t row = y / down, first = region_.left / across;
    const auto n = static_cast<std::size_t>((region_.left + region_.width - 1) / across + 1 - first);
    const std::uint8_t* near = at(c, row, first);
    if (across == 1 && down == 1) return near;
    const bool below = y % 2 != 0;
    const std::uint8_t* far = near;
    if (part_.smooth_down) far = at(c, std::clamp(below ? row + 1 : row - 1, 0, part_.chroma.height - 1), first);
    std::uint8_t* out = temporary(c - 1);
    if (part_.smooth_across && part_.smooth_down) {
      kernel::jpeg::upsample_both(out, near, far, n, level_);
    } else if (part_.smooth_across) {
      kernel::jpeg::upsample_across(out, near, n, level_);
    } else if (part_.smooth_down) {
      kernel::jpeg::upsample_down(out, near, far, n, below, level_);
    } else {
      kernel::jpeg::replicate(out, near, n, across);
    }
    return out + (region_.left - first * across);
  }

  void write(std::int32_t y) const {
    const auto n = static_cast<std::size_t>(region_.width);
    const std::int32_t row = y - region_.top;
    const std::uint8_t* luma = at(0, y, region_.left);
    if (components_ == 1) {
      for (std::int32_t c = 0; c < out_.channels; ++c) std::memcpy(out_.row(c, row), luma, n);
      return;
    }
    const std::uint8_t *cb = chroma_row(1, y), *cr = chroma_row(2, y);
    if (out_.channels == 3) {
      kernel::jpeg::ycc_to_rgb(out_.row(0, row), out_.row(1, row), out_.row(2, row), luma, cb, cr, n, level_);
      return;
    }
    const ImageView rgb{temporary(2), 3, 1, region_.width, temporary_stride_, temporary_stride_};
    kernel::jpeg::ycc_to_rgb(rgb.row(0, 0), rgb.row(1, 0), rgb.row(2, 0), luma, cb, cr, n, level_);
    kernel::grayscale(out_.crop({row, 0, 1, region_.width}), rgb, level_);
  }

  const Frame& frame_;
  const std::int32_t components_;  // components that pixels are made of
  const Rect region_;
  const ImageView out_;
  const kernel::Level level_;
  const McuPart part_;
  std::int32_t y_;                   // next row of pixels to be written
  std::int32_t row_ = 0, rows_ = 0;  // MCUs in the strip
  std::array<Plane, 3> planes_;
  std::size_t bytes_ = 0;
  std::size_t temporary_ = 0;  // rows: two of upsampled chroma, three of RGB on its way to gray
  std::size_t coefficients_ = 0;
  std::size_t row_size_ = 0;  // coefficients of one row of MCUs
  std::int32_t temporary_stride_ = 0;
  std::uint8_t* memory_ = nullptr;
};

}  // namespace

Result<Renderer::RenderOutcome> Renderer::render(const Frame& frame, const Rect& region, BlockSource& blocks,
                                                 const ImageView& out, bool luma) {
  Strip strip(frame, region, out, luma, level_);
  DRAPPS_RETURN_IF_ERROR(memory_.ensure(strip.bytes()));
  strip.place_at(memory_.data());
  const std::array<BlockTargets, kRows> targets{strip.targets(0), strip.targets(1)};
  const auto [rows, columns] = std::pair(strip.part().rows, strip.part().columns);
  for (std::int32_t row = rows.begin, together = 1; row < rows.end; row += together) {
    together = row + 1 < rows.end && blocks.pairs(row, columns.begin) ? 2 : 1;
    strip.begin(row, together);
    for (std::int32_t first = columns.begin; first < columns.end; first += kChunk) {
      const std::int32_t count = std::min(kChunk, columns.end - first);
      const bool good =
          together == 2 ? blocks.read_pair(row, first, count, targets) : blocks.read(row, first, count, targets[0]);
      if (!good) return RenderOutcome::kBadBlocks;
      for (std::int32_t i = 0; i < together; ++i) strip.transform(i, first, count);
    }
    strip.finish();
  }
  return RenderOutcome::kDone;
}

}  // namespace drapps::jpeg
