#include <algorithm>
#include <cstring>
#include <string>

#include "drapps/decode/jpeg/coefficients.h"
#include "drapps/decode/jpeg/coefficients_format.h"
#include "drapps/decode/jpeg/structure.h"
#include "drapps/decode/sniff.h"
#include "drapps/kernel/jpeg/expand.h"

namespace drapps::jpeg {
namespace {

using kernel::jpeg::BlockTargets;
using kernel::jpeg::kBlock;
using kernel::jpeg::kDcBytes;
using kernel::jpeg::kLane;
using kernel::jpeg::kMaskBytes;
using kernel::jpeg::kMaxValueBytes;

Error unsupported(const char* what) {
  return decode_error(ErrorCode::kUnsupported, std::string(what) + ", which has no coefficient form; keep the file");
}

template <class Number>
void put(std::vector<std::uint8_t>& bytes, std::size_t at, Number number) {
  std::memcpy(bytes.data() + at, &number, sizeof number);
}

/// Targets for whole rows of MCUs, run after run as the form has them.
BlockTargets targets_for(const Frame& frame, std::int16_t* blocks) {
  const auto across = static_cast<std::ptrdiff_t>(frame.sampling.across), mcus = std::ptrdiff_t{frame.mcus_across()};
  constexpr auto kStep = static_cast<std::ptrdiff_t>(kBlock);
  BlockTargets targets;
  std::size_t b = 0;
  for (std::int32_t c = 0; c < frame.components; ++c) {
    if (c == 0) {
      for (std::ptrdiff_t v = 0; v < frame.sampling.down; ++v) {
        for (std::ptrdiff_t h = 0; h < across; ++h, ++b) {
          targets.at[b] = blocks + (v * across * mcus + h) * kStep;
          targets.step[b] = across * kStep;
        }
      }
    } else {
      targets.at[b] = blocks + (static_cast<std::ptrdiff_t>(frame.luma_blocks()) + c - 1) * mcus * kStep;
      targets.step[b++] = kStep;
    }
  }
  return targets;
}

}  // namespace

Status Transcoder::transcode(std::span<const std::uint8_t> jpeg, std::vector<std::uint8_t>& out) {
  out.clear();
  Status status = write(jpeg, out);
  if (!status.ok()) out.clear();
  return status;
}

Status Transcoder::write(std::span<const std::uint8_t> jpeg, std::vector<std::uint8_t>& out) {
  const Result<ImageFormat> format = sniff(jpeg);
  if (!format.ok()) return format.error();
  if (*format != ImageFormat::kJpeg) return unsupported("this is no JPEG");
  const Result<ImageInfo> info = inspect(jpeg, {.exif = ExifMode::kApply});
  if (!info.ok()) return info.error();
  if (info->irregular) return unsupported("a JPEG of another kind than sequential, or with damage");
  const std::optional<Frame> frame = read_frame(jpeg);
  if (!frame) return unsupported("a JPEG of other colours or sampling than usual");
  const Result<bool> ready = scan_.begin(jpeg, *frame, nullptr);
  if (!ready.ok()) return ready.error();
  if (!*ready) return unsupported("a JPEG with unusual code tables");

  const HeadLayout layout(*frame);
  out.resize(layout.lanes() * kLane);
  const auto mcus = static_cast<std::size_t>(frame->mcus_across());
  const std::size_t count = frame->blocks() * mcus;
  constexpr std::size_t kBlockBytes = kBlock * sizeof(std::int16_t);
  const std::size_t most = lanes_for(count * (kMaskBytes + kDcBytes + kMaxValueBytes)) * kLane;
  DRAPPS_RETURN_IF_ERROR(row_.ensure(count * kBlockBytes + most + kLane));
  auto* const blocks = reinterpret_cast<std::int16_t*>(row_.data());
  std::uint8_t* const packed = row_.data() + count * kBlockBytes;
  const BlockTargets targets = targets_for(*frame, blocks);
  for (std::size_t row = 0; row < layout.rows; ++row) {
    if (!scan_.read(static_cast<std::int32_t>(row), 0, frame->mcus_across(), targets)) {
      return unsupported("a JPEG with damaged data");
    }
    std::uint8_t* const dc = packed + kMaskBytes * count;
    const std::uint8_t* end = kernel::jpeg::pack(packed, dc, dc + kDcBytes * count, blocks, count, level_);
    const auto size = static_cast<std::size_t>(end - packed);
    const std::size_t lanes = lanes_for(size);
    std::memset(packed + size, 0, lanes * kLane - size);
    put(out, layout.sums + 8 * row, kernel::jpeg::lane_sum(packed, lanes, level_));
    put(out, layout.row_lanes + 4 * row, static_cast<std::uint32_t>(lanes));
    out.insert(out.end(), packed, packed + lanes * kLane);
  }
  out.resize(out.size() + kLane);

  std::copy(kCoefficientMagic.begin(), kCoefficientMagic.end(), out.begin());
  put(out, kVersionAt, kVersion);
  put(out, kHeadLanesAt, static_cast<std::uint32_t>(layout.lanes()));
  put(out, kLane + kWidthAt, static_cast<std::uint32_t>(frame->extent.width));
  put(out, kLane + kHeightAt, static_cast<std::uint32_t>(frame->extent.height));
  out[kLane + kComponentsAt] = static_cast<std::uint8_t>(frame->components);
  out[kLane + kAcrossAt] = static_cast<std::uint8_t>(frame->sampling.across);
  out[kLane + kDownAt] = static_cast<std::uint8_t>(frame->sampling.down);
  out[kLane + kOrientationAt] = info->orientation;
  for (std::size_t c = 0; c < static_cast<std::size_t>(frame->components); ++c) {
    std::memcpy(out.data() + kTablesAt + kTableBytes * c, frame->component[c].quant.data(), kTableBytes);
  }
  put(out, kSumAt, kernel::jpeg::lane_sum(out.data() + kLane, layout.lanes() - 1, level_));
  return ok_status();
}

void Transcoder::reset() noexcept {
  scan_.reset();
  row_.reset();
}

}  // namespace drapps::jpeg
