// A finished sample becomes its row of each column of the batch.
//
//   pictures   TensorFormat: normalised, then the sample's erasures, in order
//   masks      class ids as uint8, int32 or int64, [height, width]
//   boxes      float32 [max_boxes, 4], x0 y0 x1 y1 in pixels, zeros after the last; their number is a column of its own
//   per box    int64 [max_boxes], one value per box (its label), `kNoBox` after the last
//
// Writers are immutable and called from many threads; the row given must be theirs alone. Nothing allocates unless
// it fails. Errors are of stage kBatch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "drapps/batch/tensor_format.h"
#include "drapps/data/picture.h"
#include "drapps/kernel/normalize.h"

namespace drapps {

class PictureWriter {
 public:
  /// For samples as `in` describes. kInvalidArgument as TensorFormat::check and infer.
  static Result<PictureWriter> make(const TensorFormat& format, const PictureSpec& in);

  /// Fills `row`, bytes() long, best aligned to 64. kInvalidArgument for a picture of other size or channels.
  Status write(const Picture& picture, std::byte* row) const;

  /// Fills `row` from a picture that nothing was done to, its pixels one after another in a single line per plane. The
  /// line must have as many pixels as the row.
  void write_pixels(ConstImageView line, std::byte* row) const noexcept { normalizer_.store(row, line, row_); }

  /// What each byte becomes: [channels()][256] elements of the dtype, which are all that write() has in a row.
  std::vector<std::byte> table() const;

  std::size_t bytes() const noexcept { return kernel::row_size(row_, channels_, extent_.height, extent_.width); }
  kernel::RowFormat format() const noexcept { return row_; }
  std::int32_t channels() const noexcept { return channels_; }
  Extent extent() const noexcept { return extent_; }

 private:
  PictureWriter(kernel::Normalizer normalizer, const TensorFormat& format, const PictureSpec& in) noexcept
      : normalizer_(normalizer), row_{format.dtype, format.layout}, channels_(in.channels), extent_(in.extent) {}

  kernel::Normalizer normalizer_;
  kernel::RowFormat row_;
  std::int32_t channels_;
  Extent extent_;
};

class MaskWriter {
 public:
  /// kInvalidArgument where the masks have no common size or the dtype is none of integers.
  static Result<MaskWriter> make(Dtype dtype, const PictureSpec& in);

  /// Fills `row`, bytes() long. kInvalidArgument for a sample without mask, or with one of another size.
  Status write(const Picture& picture, std::byte* row) const;

  std::size_t bytes() const noexcept { return kernel::row_size(row_, 1, extent_.height, extent_.width); }

 private:
  MaskWriter(Dtype dtype, Extent extent) noexcept
      : normalizer_(kernel::Normalizer::raw()), row_{dtype, Layout::kNchw}, extent_(extent) {}

  kernel::Normalizer normalizer_;
  kernel::RowFormat row_;
  Extent extent_;
};

/// What stands in a per-box column where there is no box.
inline constexpr std::int64_t kNoBox = -1;

/// Fills `row` (4 numbers per box that fits) and returns how many boxes there are. kTooLarge, saying how many there
/// were, where they do not fit.
Result<std::int32_t> write_boxes(const Picture& picture, std::span<float> row);

/// Fills `row` with the values of the sample's boxes, `of_record[i]` being that of the record's box i, as many as
/// write_boxes took. Requires write_boxes to have succeeded with as long a row.
void write_box_values(const Picture& picture, std::span<const std::int64_t> of_record,
                      std::span<std::int64_t> row) noexcept;

}  // namespace drapps
