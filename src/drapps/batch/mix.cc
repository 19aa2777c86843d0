#include "drapps/batch/mix.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "drapps/augment/picture/checks.h"
#include "drapps/base/half.h"

namespace drapps {
namespace {

constexpr std::size_t kPart = 8192;  // bytes

/// `rows` rows of `row_bytes` bytes each, one after another.
struct MixedRows {
  std::byte* data;
  std::size_t row_bytes;
  std::uint32_t rows;  // at least 1

  std::byte* at(std::uint32_t row, std::size_t offset) const noexcept { return data + row * row_bytes + offset; }
};

/// Calls join(own, before, bytes) for the bytes [offset, offset + bytes) of each row, in parts; `own` is to be changed,
/// `before` is the same part of the row before as it was.
template <class Join>
void join_rows(const MixedRows& rows, std::size_t offset, std::size_t bytes, Join join) noexcept {
  alignas(64) std::array<std::byte, kPart> last;
  for (const std::size_t end = offset + bytes; offset < end; offset += kPart) {
    const std::size_t part = std::min(end - offset, kPart);
    std::memcpy(last.data(), rows.at(rows.rows - 1, offset), part);
    for (std::uint32_t row = rows.rows - 1; row > 0; --row) join(rows.at(row, offset), rows.at(row - 1, offset), part);
    join(rows.at(0, offset), last.data(), part);
  }
}

/// Blends rows of 16-bit floats, which `widen` and `narrow` turn to float32 and back.
template <auto widen, auto narrow>
void blend_halves(const MixedRows& rows, float own_share, float before_share) noexcept {
  join_rows(rows, 0, rows.row_bytes, [=](std::byte* own, const std::byte* before, std::size_t bytes) {
    auto* out = reinterpret_cast<std::uint16_t*>(own);
    const auto* in = reinterpret_cast<const std::uint16_t*>(before);
    for (std::size_t i = 0; i < bytes / 2; ++i) {
      const float first = widen(narrow(widen(in[i]) * before_share));
      out[i] = narrow(first + widen(narrow(widen(out[i]) * own_share)));
    }
  });
}

void blend(const MixedRows& rows, Dtype dtype, double lambda) noexcept {
  const auto own_share = static_cast<float>(lambda);
  const auto before_share = static_cast<float>(1 - lambda);
  if (dtype == Dtype::kBfloat16) {
    blend_halves<from_bfloat16, to_bfloat16>(rows, own_share, before_share);
  } else if (dtype == Dtype::kFloat16) {
    blend_halves<from_float16, to_float16>(rows, own_share, before_share);
  } else {
    join_rows(rows, 0, rows.row_bytes, [=](std::byte* own, const std::byte* before, std::size_t bytes) {
      auto* out = reinterpret_cast<float*>(own);
      const auto* in = reinterpret_cast<const float*>(before);
      for (std::size_t i = 0; i < bytes / 4; ++i) out[i] = in[i] * before_share + out[i] * own_share;
    });
  }
}

}  // namespace

Result<Mixer> Mixer::make(const Mix& mix, const TensorFormat& format, const PictureSpec& in) {
  DRAPPS_RETURN_IF_ERROR(mix.check());
  DRAPPS_RETURN_IF_ERROR(format.infer(in));
  if (in.has_mask || in.has_boxes) {
    return op_error(Mix::kTag, "the samples have masks or boxes, which cannot be mixed; leave them out of the source");
  }
  if (mix.mixup_alpha > 0 && !is_float(format.dtype)) {
    return op_error(Mix::kTag, "mixup makes fractions, and pictures of " + std::string(name_of(format.dtype)) +
                                   " have none; ask for float32, bfloat16 or float16, or for cutmix alone");
  }
  return Mixer(mix, format, in);
}

Status Mixer::check_label(std::int64_t label) const {
  if (label >= 0 && label < mix_.num_classes) return ok_status();
  return op_error(Mix::kTag, "the label is " + std::to_string(label) + ", and num_classes is " +
                                 std::to_string(mix_.num_classes) + "; labels must be from 0 to num_classes - 1");
}

Status Mixer::check_labels(std::span<const std::int64_t> labels) const {
  const auto wrong =
      std::find_if(labels.begin(), labels.end(), [&](std::int64_t x) { return x < 0 || x >= mix_.num_classes; });
  if (wrong == labels.end()) return ok_status();
  return op_error(Mix::kTag, "sample " + std::to_string(wrong - labels.begin()) + " has the label " +
                                 std::to_string(*wrong) + ", and num_classes is " + std::to_string(mix_.num_classes) +
                                 "; labels must be from 0 to num_classes - 1");
}

void Mixer::write_label(std::int64_t label, std::byte* row) const noexcept {
  auto* shares = reinterpret_cast<float*>(row);
  std::fill_n(shares, mix_.num_classes, 0.0F);
  shares[label] = 1.0F;
}

void Mixer::run(std::byte* images, std::byte* labels, std::uint32_t rows, const Draws& draws) const noexcept {
  if (rows == 0) return;
  const MixDraw draw = this->draw(draws);
  if (draw.kind == MixDraw::MixKind::kNone) return;
  if (draw.kind == MixDraw::MixKind::kMixUp) {
    blend({images, picture_bytes_, rows}, dtype_, draw.lambda);
  } else {
    cut(images, rows, draw.box);
  }
  blend({labels, static_cast<std::size_t>(mix_.num_classes) * sizeof(float), rows}, Dtype::kFloat32, draw.lambda);
}

void Mixer::cut(std::byte* images, std::uint32_t rows, const Rect& box) const noexcept {
  const MixedRows pictures{images, picture_bytes_, rows};
  const bool planes = layout_ == Layout::kNchw;
  const std::size_t pixel = size_of(dtype_) * static_cast<std::size_t>(planes ? 1 : channels_);
  const auto copy = [](std::byte* own, const std::byte* before, std::size_t bytes) { std::memcpy(own, before, bytes); };
  for (std::int32_t plane = 0; plane < (planes ? channels_ : 1); ++plane) {
    for (std::int32_t y = box.top; y < box.top + box.height; ++y) {
      const std::int64_t first = (std::int64_t{plane} * extent_.height + y) * extent_.width + box.left;
      join_rows(pictures, static_cast<std::size_t>(first) * pixel, static_cast<std::size_t>(box.width) * pixel, copy);
    }
  }
}

}  // namespace drapps
