// MixUp and CutMix on a finished batch, in place.
//
//   auto mixer = Mixer::make(mix, format, spec);
//   mixer->write_label(label, row);           // for each sample
//   mixer->run(images, labels, rows, draws);  // once the batch stands
//
// 1. The label of each row is written as one float32 per class from the start: 1 for its own, else 0.
// 2. When all rows stand and the bad ones have left, each row is joined with the one before it, the first with the
//    last, as torch's roll(1) pairs them. MixUp: before · (1 − λ) + own · λ, each of the three steps rounded to the
//    dtype, as torch computes it. CutMix: the box of the row before. Labels are joined like MixUp's pictures.
// 3. A batch goes by in parts of kPart bytes of all rows, from the last row up, so that only that part of the last
//    row is kept aside: nothing is allocated, and memory is read and written once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "drapps/augment/picture/op.h"
#include "drapps/batch/mix_draws.h"
#include "drapps/batch/tensor_format.h"
#include "drapps/kernel/normalize.h"

namespace drapps {

/// Immutable; called from many threads, each with a batch of its own.
class Mixer {
 public:
  /// For pictures as `format` makes them of samples as `in` says. kInvalidArgument as Mix::check, for MixUp of
  /// integers, and for samples with masks or boxes, of which nobody says how they mix.
  static Result<Mixer> make(const Mix& mix, const TensorFormat& format, const PictureSpec& in);

  /// kInvalidArgument for a label that is no class.
  Status check_label(std::int64_t label) const;
  /// kInvalidArgument naming the first label that is no class.
  Status check_labels(std::span<const std::int64_t> labels) const;

  /// How a batch is mixed.
  MixDraw draw(const Draws& draws) const noexcept { return draw_mix(mix_, extent_, draws); }

  std::int64_t classes() const noexcept { return mix_.num_classes; }

  /// Fills a row of num_classes float32. Requires check_labels().
  void write_label(std::int64_t label, std::byte* row) const noexcept;

  /// Mixes the first `rows` rows of both columns as `draws` says.
  void run(std::byte* images, std::byte* labels, std::uint32_t rows, const Draws& draws) const noexcept;

 private:
  Mixer(const Mix& mix, const TensorFormat& format, const PictureSpec& in) noexcept
      : mix_(mix),
        dtype_(format.dtype),
        layout_(format.layout),
        channels_(in.channels),
        extent_(in.extent),
        picture_bytes_(
            kernel::row_size({format.dtype, format.layout}, in.channels, in.extent.height, in.extent.width)) {}

  void cut(std::byte* images, std::uint32_t rows, const Rect& box) const noexcept;

  Mix mix_;
  Dtype dtype_;
  Layout layout_;
  std::int32_t channels_;
  Extent extent_;
  std::size_t picture_bytes_;
};

}  // namespace drapps
