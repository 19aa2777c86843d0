// The coefficient form must hold for any bytes at all. Each input is tried as a picture as it is, and again with sums
// that fit, to get behind them. An input that is a JPEG is transcoded, and its form must decode to the same pixels.
#include <cstring>
#include <vector>

#include "decode_target.h"
#include "drapps/decode/jpeg/coefficients.h"
#include "drapps/decode/jpeg/coefficients_format.h"
#include "drapps/kernel/jpeg/expand.h"

namespace drapps::fuzz {
namespace {

using kernel::jpeg::kLane;
using kernel::jpeg::lane_sum;

template <class Number>
Number number(std::span<const std::uint8_t> bytes, std::size_t at) {
  Number number;
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

/// Corrects the sums of the head and of all rows, as far as there are any.
void repair(std::span<std::uint8_t> bytes) {
  if (bytes.size() < 2 * kLane) return;
  const auto put = [&](std::size_t at, std::uint64_t sum) { std::memcpy(&bytes[at], &sum, sizeof sum); };
  const std::size_t lanes = number<std::uint32_t>(bytes, jpeg::kHeadLanesAt);
  if (lanes < 2 || lanes > bytes.size() / kLane) return;
  const auto seal = [&] { put(jpeg::kSumAt, lane_sum(&bytes[kLane], lanes - 1)); };
  seal();
  const Result<jpeg::CoefficientHead> head = jpeg::read_coefficient_head(bytes);
  if (!head.ok()) return;
  const auto sums = static_cast<std::size_t>(head->sums.data() - bytes.data());
  std::size_t begin = head->rows_begin;
  for (std::size_t row = 0; row < head->sums.size() / 8; ++row) {
    const auto size = number<std::uint32_t>(head->lanes, 4 * row);
    put(sums + 8 * row, lane_sum(&bytes[begin], size));
    begin += size * kLane;
  }
  seal();
}

void try_jpeg(std::span<const std::uint8_t> bytes) {
  static jpeg::Transcoder transcoder(MemoryLedger::unlimited());
  static std::vector<std::uint8_t> form;
  static Decoder decoder(MemoryLedger::unlimited());
  static ImageBuffer from_jpeg(MemoryLedger::unlimited()), from_form(MemoryLedger::unlimited());
  const DecodeOptions options{.exif = ExifMode::kApply, .max_pixels = 1 << 16};
  const Result<ImageInfo> info = decoder.inspect(bytes, options);
  if (!info.ok() || !transcoder.transcode(bytes, form).ok()) return;
  const Result<ImageInfo> same = decoder.inspect(form, options);
  require(same.ok() && same->extent == info->extent && same->orientation == info->orientation);
  const Rect all{0, 0, info->extent.height, info->extent.width};
  const Result<ImageView> expected = decoder.decode(bytes, *info, all, options, from_jpeg);
  const Result<ImageView> pixels = decoder.decode(form, *same, all, options, from_form);
  require(expected.ok() && pixels.ok());
  for (std::int32_t c = 0; c < pixels->channels; ++c) {
    for (std::int32_t y = 0; y < pixels->height; ++y) {
      require(std::memcmp(pixels->row(c, y), expected->row(c, y), static_cast<std::size_t>(pixels->width)) == 0);
    }
  }
}

}  // namespace
}  // namespace drapps::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace drapps;
  const std::span<const std::uint8_t> bytes(data, size);
  const Result<ImageFormat> format = sniff(bytes);
  if (!format.ok()) return -1;
  if (*format == ImageFormat::kJpeg) return fuzz::try_jpeg(bytes), 0;
  if (*format != ImageFormat::kCoefficients) return -1;
  fuzz::try_bytes(ImageFormat::kCoefficients, bytes);
  std::vector<std::uint8_t> repaired(data, data + size);
  fuzz::repair(repaired);
  return fuzz::try_bytes(ImageFormat::kCoefficients, repaired);
}
