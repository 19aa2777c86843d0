#include "drapps/modality/pixel_maker.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstring>
#include <utility>

#include "drapps/decode/check.h"
#include "drapps/decode/orient.h"
#include "drapps/kernel/color.h"
#include "drapps/kernel/normalize.h"
#include "drapps/kernel/planes.h"

namespace drapps {
namespace {

constexpr std::uint8_t kUpright = 1, kMirrored = 2, kUpsideDown = 4, kFirstTransposed = 5, kLast = 8;

Error unfit(const char* message) {
  return Error{.code = ErrorCode::kInvalidArgument, .stage = Stage::kAugment, .message = message};
}

/// A picture of one channel as one of so many equal channels; another picture as it is.
ConstImageView repeated(ConstImageView in, std::int32_t channels) noexcept {
  if (in.channels != 1 || channels == 1) return in;
  in.channels = channels;
  in.plane_stride = 0;
  return in;
}

}  // namespace

Result<ImageView> PixelMaker::stored(const PixelSource& source, const PixelPart& part) {
  DRAPPS_RETURN_IF_ERROR(check_region(part.rect, source.extent()));
  const bool gray = part.gray && source.channels() == 3;
  if (!source.file.empty()) {
    const bool one = gray || part.luma || source.jpeg.channels == 1;
    ImageInfo info = source.jpeg.info;
    info.luma = part.luma;
    const DecodeOptions options{.color = one ? ColorMode::kGray : ColorMode::kRgb};
    const jpeg::IndexUse* const index = source.index.store == nullptr ? nullptr : &source.index;
    return decoder_.decode(source.file, info, part.rect, options, decoded_, index);
  }
  if (part.luma) return unfit("luma is a file's");
  const ImageView view = source.planes.crop(part.rect);
  if (!gray) return view;
  Result<ImageView> plane = gray_.reshape(1, view.height, view.width);
  if (plane.ok()) kernel::grayscale(*plane, view);
  return plane;
}

Result<ImageView> PixelMaker::make(const PixelSource& source, const PixelPart& part) {
  if (part.orientation < kUpright || part.orientation > kLast) return unfit("an orientation is 1 to 8");
  Result<ImageView> view = stored(source, part);
  if (!view.ok() || part.orientation == kUpright) return view;
  const bool transposed = part.orientation >= kFirstTransposed;
  Result<ImageView> turned =
      turned_.reshape(view->channels, transposed ? view->width : view->height, transposed ? view->height : view->width);
  if (!turned.ok()) return turned;
  switch (part.orientation) {
    case kMirrored: kernel::flip_horizontal(*turned, *view); break;
    case kUpsideDown: kernel::flip_vertical(*turned, *view); break;
    default: orient(*turned, *view, part.orientation);
  }
  return turned;
}

Result<ImageView> PixelMaker::resize(const PixelSource& source, const PixelPart& part, const PixelTarget& target) {
  if (target.extent.height <= 0 || target.extent.width <= 0) return unfit("a picture has at least one pixel");
  Result<ImageView> view = make(source, part);
  if (!view.ok()) return view;
  Result<ImageView> out = resized_.reshape(view->channels, target.extent.height, target.extent.width);
  if (!out.ok()) return out;
  if (target.box) {
    const Rect read = target.box->read();
    if (read.height != view->height || read.width != view->width) return unfit("a box reads another part");
    DRAPPS_RETURN_IF_ERROR(resizer_.resize(*out, *view, target.filter, target.order, *target.box));
  } else {
    DRAPPS_RETURN_IF_ERROR(resizer_.resize(*out, *view, target.filter, target.order));
  }
  return out;
}

Status PixelMaker::resize_array(const ArrayPixels& in, Extent extent, kernel::Filter filter, Layout layout,
                                std::uint8_t* out) {
  constexpr std::int32_t kChannels = 3;
  if (std::min({in.extent.height, in.extent.width, extent.height, extent.width}) <= 0) {
    return unfit("a picture has at least one pixel");
  }
  // The resize reads beyond rows, which an array may not allow.
  const Result<ImageView> read = decoded_.reshape(kChannels, in.extent.height, in.extent.width);
  if (!read.ok()) return read.error();
  const auto width = static_cast<std::size_t>(in.extent.width), out_width = static_cast<std::size_t>(extent.width);
  for (std::int32_t y = 0; y < in.extent.height; ++y) {
    const std::uint8_t* row = in.data + y * in.row_stride;
    if (in.layout == Layout::kNhwc) {
      kernel::deinterleave3(read->row(0, y), read->row(1, y), read->row(2, y), row, width);
      continue;
    }
    for (std::int32_t c = 0; c < kChannels; ++c, row += in.plane_stride) std::memcpy(read->row(c, y), row, width);
  }
  constexpr auto kOrder = kernel::PassOrder::kHorizontalFirst;
  if (layout == Layout::kNchw) {
    const ImageView planes{out,          kChannels,    extent.height,
                           extent.width, extent.width, std::ptrdiff_t{extent.height} * extent.width};
    return resizer_.resize(planes, *read, filter, kOrder, kernel::Arithmetic::kTorch);
  }
  const Result<ImageView> image = resized_.reshape(kChannels, extent.height, extent.width);
  if (!image.ok()) return image.error();
  DRAPPS_RETURN_IF_ERROR(resizer_.resize(*image, *read, filter, kOrder, kernel::Arithmetic::kTorch));
  for (std::int32_t y = 0; y < extent.height; ++y, out += kChannels * out_width) {
    kernel::interleave3(out, image->row(0, y), image->row(1, y), image->row(2, y), out_width);
  }
  return ok_status();
}

Status PixelMaker::normalize(ConstImageView in, std::span<const float> mean, std::span<const float> std, Layout layout,
                             float* out) {
  const kernel::RowFormat format{Dtype::kFloat32, layout};
  const bool planar = layout == Layout::kNchw;
  Normalization& known = planar ? planar_ : interleaved_;
  std::vector<float> numbers(mean.begin(), mean.end());
  numbers.insert(numbers.end(), std.begin(), std.end());
  if (!known.normalizer || numbers != known.numbers || mean.size() != std.size()) {
    const kernel::Scaling scaling = planar ? kernel::Scaling::kDivide : kernel::Scaling::kReciprocal;
    Result<kernel::Normalizer> normalizer = kernel::Normalizer::standard(mean, std, scaling);
    if (!normalizer.ok()) return normalizer.error();
    known.normalizer = *normalizer;
    known.numbers = std::move(numbers);
  }
  in = repeated(in, static_cast<std::int32_t>(mean.size()));
  DRAPPS_RETURN_IF_ERROR(known.normalizer->check(in.channels, format));
  known.normalizer->store(out, in, format);
  return ok_status();
}

void interleave(ConstImageView in, std::int32_t pixel_bytes, std::uint8_t fourth, std::span<std::uint8_t> out) {
  assert(out.size() >= interleaved_size({in.height, in.width}, pixel_bytes));
  const auto width = static_cast<std::size_t>(in.width);
  const std::size_t row_bytes = width * static_cast<std::size_t>(pixel_bytes);
  constexpr std::size_t kRun = 1024;  // pixels of the fourth byte, made once
  std::array<std::uint8_t, kRun> same;
  same.fill(fourth);
  const std::int32_t second = in.channels == 1 ? 0 : 1, third = in.channels == 1 ? 0 : 2;
  std::uint8_t* next = out.data();
  for (std::int32_t y = 0; y < in.height; ++y, next += row_bytes) {
    const std::uint8_t *r = in.row(0, y), *g = in.row(second, y), *b = in.row(third, y);
    if (pixel_bytes == 1) {
      std::memcpy(next, r, width);
    } else if (pixel_bytes == 3) {
      kernel::interleave3(next, r, g, b, width);
    } else {
      for (std::size_t x = 0; x < width; x += kRun) {
        kernel::interleave4(next + 4 * x, r + x, g + x, b + x, same.data(), std::min(kRun, width - x));
      }
    }
  }
}

void divide_by_255(ConstImageView in, std::int32_t channels, float* out) {
  static const kernel::Normalizer normalizer = kernel::Normalizer::unit(kernel::Scaling::kDivide);
  normalizer.store(out, repeated(in, channels), {Dtype::kFloat32, Layout::kNchw});
}

void scale_bytes(std::span<const std::uint8_t> in, float* out) noexcept {
  constexpr auto kScale = static_cast<float>(1.0 / 255);
  for (std::size_t i = 0; i < in.size(); ++i) out[i] = static_cast<float>(in[i]) * kScale;
}

void separate(std::span<const float> pixels, float* out) noexcept {
  const std::size_t count = pixels.size() / 3;
  float *const red = out, *const green = out + count, *const blue = green + count;
  const float* in = pixels.data();
  for (std::size_t i = 0; i < count; ++i, in += 3) {
    red[i] = in[0];
    green[i] = in[1];
    blue[i] = in[2];
  }
}

}  // namespace drapps
