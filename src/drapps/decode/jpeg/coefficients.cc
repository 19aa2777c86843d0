#include "drapps/decode/jpeg/coefficients.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "drapps/decode/check.h"
#include "drapps/decode/jpeg/coefficients_format.h"
#include "drapps/kernel/jpeg/expand.h"

namespace drapps::jpeg {
namespace {

using Bytes = std::span<const std::uint8_t>;
using kernel::jpeg::BlockTargets;
using kernel::jpeg::kDcBytes;
using kernel::jpeg::kLane;
using kernel::jpeg::kMaskBytes;
using kernel::jpeg::kMaxValueBytes;

template <class Number>
Number number_at(Bytes bytes, std::size_t at) {
  Number number;
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

bool zeros(Bytes bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::uint8_t byte) { return byte == 0; });
}

Error corrupt(const char* what, std::size_t at) {
  return decode_error(ErrorCode::kCorrupt, std::string(what) + "; transcode the JPEG again",
                      static_cast<std::int64_t>(at));
}
Error truncated(Bytes bytes) {
  return decode_error(ErrorCode::kTruncated, "the file of coefficients ends early; transcode the JPEG again",
                      static_cast<std::int64_t>(bytes.size()));
}

/// Shape of the picture from lane 1. False for one that Renderer does not know.
bool read_shape(Bytes lane, CoefficientHead& head) {
  const auto width = number_at<std::uint32_t>(lane, kWidthAt), height = number_at<std::uint32_t>(lane, kHeightAt);
  head.orientation = lane[kOrientationAt];
  Frame& frame = head.frame;
  frame.components = lane[kComponentsAt];
  frame.sampling = {lane[kAcrossAt], lane[kDownAt]};
  const auto [across, down] = frame.sampling;
  if (width - 1 >= 65535 || height - 1 >= 65535 || head.orientation - 1u >= 8 || !zeros(lane.subspan(kShapeBytes))) {
    return false;
  }
  frame.extent = {static_cast<std::int32_t>(height), static_cast<std::int32_t>(width)};
  return (frame.components == 1 && across == 1 && down == 1) ||
         (frame.components == 3 && (down == 1 || down == 2) &&
          (across == 1 || across == 2 || (across == 4 && down == 1)));
}

}  // namespace

Result<CoefficientHead> read_coefficient_head(Bytes bytes) {
  if (bytes.size() < 2 * kLane) return truncated(bytes);
  if (std::memcmp(bytes.data(), kCoefficientMagic.data(), kCoefficientMagic.size()) != 0) {
    return corrupt("this is no file of coefficients", 0);
  }
  if (number_at<std::uint32_t>(bytes, kVersionAt) != kVersion) {
    return decode_error(ErrorCode::kUnsupported,
                        "a file of coefficients of another version; transcode the JPEG again, or update drapps",
                        static_cast<std::int64_t>(kVersionAt));
  }
  CoefficientHead head;
  const std::size_t head_lanes = number_at<std::uint32_t>(bytes, kHeadLanesAt);
  if (head_lanes < 2) return corrupt("the head is damaged", kHeadLanesAt);
  if (bytes.size() / kLane < head_lanes) return truncated(bytes);
  if (kernel::jpeg::lane_sum(bytes.data() + kLane, head_lanes - 1) != number_at<std::uint64_t>(bytes, kSumAt) ||
      !zeros(bytes.subspan(kSumAt + 8, kLane - kSumAt - 8)) || !read_shape(bytes.subspan(kLane, kLane), head)) {
    return corrupt("the head is damaged", kLane);
  }
  Frame& frame = head.frame;
  const HeadLayout layout(frame);
  if (layout.lanes() != head_lanes) return corrupt("the head is damaged", kHeadLanesAt);
  for (std::size_t c = 0; c < static_cast<std::size_t>(frame.components); ++c) {
    std::memcpy(frame.component[c].quant.data(), bytes.data() + kTablesAt + kTableBytes * c, kTableBytes);
  }
  head.sums = bytes.subspan(layout.sums, 8 * layout.rows);
  head.lanes = bytes.subspan(layout.row_lanes, 4 * layout.rows);
  head.rows_begin = head_lanes * kLane;

  const std::size_t blocks = frame.blocks() * static_cast<std::size_t>(frame.mcus_across());
  const std::size_t least = lanes_for(blocks * (kMaskBytes + kDcBytes));
  const std::size_t most = lanes_for(blocks * (kMaskBytes + kDcBytes + kMaxValueBytes));
  std::size_t lanes = head_lanes + 1;
  for (std::size_t row = 0; row < layout.rows; ++row) {
    const auto of_row = number_at<std::uint32_t>(head.lanes, 4 * row);
    if (of_row < least || of_row > most) return corrupt("the directory is damaged", layout.row_lanes + 4 * row);
    lanes += of_row;
  }
  if (bytes.size() / kLane < lanes) return truncated(bytes);
  if (bytes.size() != lanes * kLane) return corrupt("the file is longer than it should be", lanes * kLane);
  return head;
}

Result<ImageInfo> inspect_coefficients(Bytes bytes, const DecodeOptions& options) {
  const Result<CoefficientHead> head = read_coefficient_head(bytes);
  if (!head.ok()) return head.error();
  const Extent extent = head->frame.extent;
  DRAPPS_RETURN_IF_ERROR(check_extent(extent, options, kLane));
  ImageInfo info{.format = ImageFormat::kCoefficients, .extent = extent, .stored = extent};
  if (options.exif == ExifMode::kApply) {
    info.orientation = head->orientation;
    if (info.orientation >= 5) std::swap(info.extent.height, info.extent.width);
  }
  return info;
}

Status CoefficientReader::begin(Bytes bytes, const CoefficientHead& head) {
  const Frame& frame = head.frame;
  bytes_ = bytes;
  row_ = -1;
  mcus_across_ = static_cast<std::size_t>(frame.mcus_across());
  run_count_ = 0;
  blocks_ = 0;
  std::size_t target = 0;
  const auto add = [&](std::size_t across) {
    runs_[run_count_++] = {across, blocks_, target};
    blocks_ += across * mcus_across_;
    target += across;
  };
  for (std::int32_t v = 0; v < frame.sampling.down; ++v) add(static_cast<std::size_t>(frame.sampling.across));
  for (std::int32_t c = 1; c < frame.components; ++c) add(1);

  const auto rows = static_cast<std::size_t>(frame.mcus_down());
  DRAPPS_RETURN_IF_ERROR(places_.ensure(rows * sizeof(McuRowPlace)));
  std::size_t begin = head.rows_begin;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::uint8_t* const data = bytes.data() + begin;
    const std::size_t lanes = number_at<std::uint32_t>(head.lanes, 4 * row);
    if (kernel::jpeg::lane_sum(data, lanes, level_) != number_at<std::uint64_t>(head.sums, 8 * row)) {
      return corrupt("a row of blocks is damaged", begin);
    }
    McuRowPlace place{.begin = begin};
    std::size_t size = blocks_ * (kMaskBytes + kDcBytes);
    for (std::size_t i = 0; i < run_count_; ++i) {
      place.values[i] = static_cast<std::uint32_t>(size);
      size += kernel::jpeg::value_bytes(data + kMaskBytes * runs_[i].begin, runs_[i].across * mcus_across_, level_);
    }
    if (lanes_for(size) != lanes) return corrupt("a row of blocks contradicts itself", begin);
    std::memcpy(places_.data() + row * sizeof place, &place, sizeof place);
    begin += lanes * kLane;
  }
  if (!zeros(bytes.subspan(begin))) return corrupt("the end is damaged", begin);
  return ok_status();
}

CoefficientReader::McuRowPlace CoefficientReader::place_of(std::int32_t row) const noexcept {
  McuRowPlace place;
  std::memcpy(&place, places_.data() + static_cast<std::size_t>(row) * sizeof place, sizeof place);
  return place;
}

CoefficientReader::StoredBlocks CoefficientReader::stored(std::int32_t row, std::size_t run, std::int32_t first,
                                                          std::int32_t count) const noexcept {
  const McuRowPlace place = place_of(row);
  const auto [across, begin, target] = runs_[run];
  const std::uint8_t* const data = bytes_.data() + place.begin;
  const std::uint8_t* const masks = data + kMaskBytes * begin;
  const std::size_t passed = across * static_cast<std::size_t>(first);
  return {.masks = masks + kMaskBytes * passed,
          .dc = data + kMaskBytes * blocks_ + kDcBytes * (begin + passed),
          .values = data + place.values[run] + kernel::jpeg::value_bytes(masks, passed, level_),
          .blocks = across * static_cast<std::size_t>(count)};
}

bool CoefficientReader::read(std::int32_t row, std::int32_t first, std::int32_t count, const BlockTargets& targets) {
  const McuRowPlace place = place_of(row);
  const std::uint8_t* const data = bytes_.data() + place.begin;
  if (row != row_ || first < column_) {
    row_ = row;
    column_ = 0;
    for (std::size_t i = 0; i < run_count_; ++i) values_[i] = data + place.values[i];
  }
  const auto passed = static_cast<std::size_t>(first - column_);
  for (std::size_t i = 0; i < run_count_; ++i) {
    const BlockRun& run = runs_[i];
    const std::size_t from = run.begin + run.across * static_cast<std::size_t>(column_);
    const std::size_t block = from + run.across * passed;
    const std::uint8_t* const values =
        values_[i] + kernel::jpeg::value_bytes(data + kMaskBytes * from, run.across * passed, level_);
    values_[i] = kernel::jpeg::expand(targets.at[run.target], data + kMaskBytes * block,
                                      data + kMaskBytes * blocks_ + kDcBytes * block, values,
                                      run.across * static_cast<std::size_t>(count), level_);
  }
  column_ = first + count;
  return true;
}

Status CoefficientDecoder::read(Bytes bytes, const ImageInfo& info, const Rect& region, const ImageView& out) {
  const Result<CoefficientHead> head = read_coefficient_head(bytes);
  if (!head.ok()) return head.error();
  if (head->frame.extent != info.stored) return corrupt("the file has changed since it was inspected", kLane);
  DRAPPS_RETURN_IF_ERROR(reader_.begin(bytes, *head));
  const auto outcome = renderer_.render(head->frame, region, reader_, out);
  if (!outcome.ok()) return outcome.error();
  return ok_status();
}

void CoefficientDecoder::reset() noexcept {
  reader_.reset();
  renderer_.reset();
}

}  // namespace drapps::jpeg
