#include "drapps/device/jpeg_list.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "drapps/base/caught.h"
#include "drapps/decode/check.h"
#include "drapps/decode/jpeg/scan_bytes.h"
#include "drapps/kernel/jpeg/zigzag.h"

namespace drapps::device {
namespace {

using jpeg::Frame;
using kernel::jpeg::CodeClass;
using kernel::jpeg::HuffmanTable;
using kernel::jpeg::kScanPadding;

static_assert(JpegScan::kPadding == kScanPadding && kJpegBlock == kernel::jpeg::kBlock);
static_assert(JpegCode::kSingleBits == HuffmanTable::kSingleBits);

constexpr std::size_t kPart = 64;  // what every list and every scan is aligned to

constexpr std::size_t aligned(std::size_t bytes) noexcept { return (bytes + kPart - 1) / kPart * kPart; }

constexpr std::int64_t parts_of(std::int64_t all, std::int64_t part) noexcept { return (all + part - 1) / part; }

JpegCode code_of(const HuffmanTable& table) noexcept {
  JpegCode code{};
  std::copy(table.single.begin(), table.single.end(), code.single);
  std::copy(table.limit.begin(), table.limit.end(), code.limit);
  std::copy(table.offset.begin(), table.offset.end(), code.offset);
  std::copy(table.symbol.begin(), table.symbol.end(), code.symbol);
  return code;
}

/// Lists one behind the other, at the same places in the host's memory and in the device's.
class Packer {
 public:
  Packer(std::byte* memory, const std::byte* there, std::size_t at) noexcept
      : memory_(memory), there_(there), at_(at) {}

  template <class List, class Pointer>
  void put(const List& list, const Pointer*& pointer) noexcept {
    const std::size_t bytes = list.size() * sizeof(*list.data());
    pointer = reinterpret_cast<const Pointer*>(there_ + at_);
    if (bytes > 0) std::memcpy(memory_ + at_, list.data(), bytes);
    at_ += aligned(bytes);
  }
  std::size_t end() const noexcept { return at_; }

 private:
  std::byte* memory_;
  const std::byte* there_;
  std::size_t at_;
};

}  // namespace

void JpegList::clear() noexcept {
  size_ = {};
  known_codes_.clear();
  codes_.clear();
  quantizers_.clear();
  restarts_.clear();
  planes_.clear();
  scans_.clear();
  segments_.clear();
  pictures_.clear();
  transform_tiles_.clear();
  pixel_tiles_.clear();
  segment_ends_.clear();
}

Result<JpegTaken> JpegList::add(std::byte* memory, std::span<const std::uint8_t> bytes, const ImageInfo& info,
                                const Rect& region, const jpeg::IndexUse& index) {
  return catching([&] { return try_add(memory, bytes, info, region, index); });
}

Result<JpegTaken> JpegList::try_add(std::byte* memory, std::span<const std::uint8_t> bytes, const ImageInfo& info,
                                    const Rect& region, const jpeg::IndexUse& index) {
  if (info.format != ImageFormat::kJpeg || info.irregular) return JpegTaken::kNotHere;
  DRAPPS_RETURN_IF_ERROR(check_region(region, info.stored));
  const std::optional<Frame> frame = jpeg::read_frame(bytes);
  // Places in the scan are counted in 32 bits, and so are the pixels and blocks of a picture.
  if (!frame || frame->extent != info.stored || bytes.size() > std::numeric_limits<std::uint32_t>::max() / 8 ||
      std::int64_t{region.height} * region.width > std::numeric_limits<std::int32_t>::max() / 2) {
    return JpegTaken::kNotHere;
  }
  Candidate candidate{*frame, {*frame, region}, region, info.luma ? 1 : frame->components, {}};
  if (!knows_part(bytes, candidate, index)) return JpegTaken::kNotHere;
  const JpegTaken no_room = pictures_.empty() ? JpegTaken::kNotHere : JpegTaken::kFull;
  if (size_.data + bytes.size() - frame->scan_begin + kScanPadding + kPadding > bounds_.input) return no_room;
  const Result<bool> coded = find_codes(candidate);
  if (!coded.ok()) return coded.error();
  if (!*coded) return JpegTaken::kNotHere;

  JpegScan& scan = candidate.scan;
  auto* const data = reinterpret_cast<std::uint8_t*>(memory) + size_.data;
  const std::size_t written = jpeg::unstuff_scan(data, bytes, frame->scan_begin, markers_);
  scan.data = static_cast<std::int64_t>(size_.data);
  scan.bits = static_cast<std::uint32_t>(written * 8);
  scan.interval = frame->restart_interval;
  scan.restarts = static_cast<std::int32_t>(restarts_.size());
  scan.markers = static_cast<std::int32_t>(markers_.size());
  scan.plane = static_cast<std::int32_t>(planes_.size());
  scan.components = frame->components;
  scan.across = frame->sampling.across;
  scan.down = frame->sampling.down;
  scan.mcus_across = frame->mcus_across();
  scan.first_row = candidate.part.rows.begin;
  scan.first_column = candidate.part.columns.begin;
  scan.end_column = candidate.part.columns.end;
  const Size size = size_with(candidate);
  if (input_bytes(size) > bounds_.input || work_bytes(size) > bounds_.work) return no_room;

  restarts_.insert(restarts_.end(), markers_.begin(), markers_.end());
  add_planes(candidate);
  add_segments(candidate);
  add_pixels(candidate);
  scans_.push_back(scan);
  size_ = size;
  return JpegTaken::kTaken;
}

/// Whether there is an index of these bytes that has the ends of all segments.
bool JpegList::knows_part(std::span<const std::uint8_t> bytes, const Candidate& candidate,
                          const jpeg::IndexUse& index) {
  if (index.store == nullptr || !index.store->get(index.key, index_)) return false;
  const jpeg::IndexShape& shape = index_.shape;
  if (shape.group == 0 || shape != jpeg::shape_of(candidate.frame, bytes, shape.group)) return false;
  const auto row = static_cast<std::size_t>(candidate.part.rows.end - 1);
  const auto group = static_cast<std::uint32_t>(candidate.part.columns.end - 1) / shape.group;
  const std::size_t end = row * shape.groups_across() + group + 1;
  if (end >= index_.entries.size() && end != shape.entries()) return false;
  if (index.known != nullptr) {
    *index.known = index_.entries.size() == shape.entries() ? Learned::kAll : Learned::kPart;
  }
  return true;
}

/// False for a code that is left to libjpeg.
Result<bool> JpegList::find_codes(Candidate& candidate) {
  for (std::size_t c = 0; c < static_cast<std::size_t>(candidate.frame.components); ++c) {
    const jpeg::Component& component = candidate.frame.component[c];
    const auto dc = code_number(CodeClass::kDc, component.dc);
    if (!dc.ok()) return dc.error();
    const auto ac = code_number(CodeClass::kAc, component.ac);
    if (!ac.ok()) return ac.error();
    if (*dc < 0 || *ac < 0) return false;
    candidate.scan.dc[c] = *dc;
    candidate.scan.ac[c] = *ac;
  }
  return true;
}

/// -1 for one that is left to libjpeg.
Result<std::int32_t> JpegList::code_number(CodeClass kind, std::span<const std::uint8_t> code) {
  const auto same = [&](const std::vector<std::uint8_t>& known) {
    return known[0] == static_cast<std::uint8_t>(kind) &&
           std::equal(known.begin() + 1, known.end(), code.begin(), code.end());
  };
  const auto known = std::find_if(known_codes_.begin(), known_codes_.end(), same);
  if (known != known_codes_.end()) return static_cast<std::int32_t>(known - known_codes_.begin());
  const Result<const HuffmanTable*> table = tables_.get(kind, code);
  if (!table.ok()) return table.error();
  if (*table == nullptr) return -1;
  codes_.push_back(code_of(**table));
  std::vector<std::uint8_t>& name = known_codes_.emplace_back(1, static_cast<std::uint8_t>(kind));
  name.insert(name.end(), code.begin(), code.end());
  return static_cast<std::int32_t>(codes_.size() - 1);
}

JpegList::Size JpegList::size_with(const Candidate& candidate) const noexcept {
  const auto& [frame, part, region, made, scan] = candidate;
  Size size = size_;
  size.data += aligned(scan.bits / 8 + kScanPadding);
  for (std::int32_t c = 0; c < frame.components; ++c) {
    const std::int64_t each = c == 0 ? static_cast<std::int64_t>(frame.luma_blocks()) : 1;
    const std::int64_t blocks = each * part.rows.size() * part.columns.size();
    size.blocks += blocks;
    if (c < made) size.transform_tiles += static_cast<std::size_t>(parts_of(blocks, JpegTransform::kBlocks));
  }
  const auto group = static_cast<std::int32_t>(index_.shape.group);
  const std::int32_t groups = (part.columns.end - 1) / group - part.columns.begin / group + 1;
  size.segments += static_cast<std::size_t>(part.rows.size()) * static_cast<std::size_t>(groups);
  size.pixel_tiles +=
      static_cast<std::size_t>(parts_of(std::int64_t{region.height} * region.width, JpegPixels::kPixels));
  size.rows += region.height;
  size.widest = std::max(size.widest, region.width);
  size.restarts += markers_.size();
  size.planes += static_cast<std::size_t>(frame.components);
  ++size.pictures;
  return size;
}

std::size_t JpegList::input_bytes(const Size& size) const noexcept {
  return size.data + aligned(kJpegBlock) + aligned(codes_.size() * sizeof(JpegCode)) +
         aligned(size.planes * sizeof(quantizers_[0])) + aligned(size.restarts * sizeof(std::uint32_t)) +
         aligned(size.planes * sizeof(JpegPlane)) + aligned(size.pictures * sizeof(JpegScan)) +
         aligned(size.segments * sizeof(JpegSegment)) + aligned(size.pictures * sizeof(JpegPicture)) +
         aligned(size.transform_tiles * sizeof(JpegTile)) + aligned(size.pixel_tiles * sizeof(JpegTile));
}

std::size_t JpegList::work_bytes(const Size& size) const noexcept {
  const auto blocks = static_cast<std::size_t>(size.blocks);
  const auto pixels = static_cast<std::size_t>(size.rows * size.widest * channels_);
  return blocks * kJpegBlock * (sizeof(std::int16_t) + 1) + aligned(pixels) + aligned(size.segments);
}

void JpegList::add_planes(const Candidate& candidate) {
  const auto& [frame, part, region, made, scan] = candidate;
  std::int64_t blocks = size_.blocks;
  for (std::int32_t c = 0; c < frame.components; ++c) {
    const jpeg::Sampling sampling = c == 0 ? frame.sampling : jpeg::Sampling{};
    const JpegPlane plane{.blocks = blocks,
                          .samples = blocks * kJpegBlock,
                          .across = sampling.across * part.columns.size(),
                          .down = sampling.down * part.rows.size(),
                          .quantizer = static_cast<std::int32_t>(quantizers_.size()),
                          .left = 8 * sampling.across * part.columns.begin,
                          .top = 8 * sampling.down * part.rows.begin};
    quantizers_.push_back(frame.component[static_cast<std::size_t>(c)].quant);
    const std::int32_t count = plane.across * plane.down;
    for (std::int32_t first = 0; first < count && c < made; first += JpegTransform::kBlocks) {
      transform_tiles_.push_back({static_cast<std::int32_t>(planes_.size()), first});
    }
    planes_.push_back(plane);
    blocks += count;
  }
}

JpegPlace JpegList::place(std::size_t entry) const noexcept {
  if (entry >= index_.entries.size()) return {};
  const jpeg::IndexEntry& at = index_.entries[entry];
  return {.bit = at.bit(), .dc = {at.dc[0], at.dc[1], at.dc[2]}, .known = 1};
}

void JpegList::add_segments(const Candidate& candidate) {
  const auto& [frame, part, region, made, scan] = candidate;
  const jpeg::IndexShape& shape = index_.shape;
  const auto group = static_cast<std::int32_t>(shape.group);
  for (std::int32_t row = part.rows.begin; row < part.rows.end; ++row) {
    for (std::int32_t column = part.columns.begin / group * group; column < part.columns.end; column += group) {
      const std::size_t entry =
          static_cast<std::size_t>(row) * shape.groups_across() + static_cast<std::size_t>(column / group);
      segments_.push_back({.scan = static_cast<std::int32_t>(scans_.size()),
                           .row = row,
                           .column = column,
                           .count = std::min(group, frame.mcus_across() - column),
                           .begin = place(entry),
                           .end = place(entry + 1)});
    }
  }
  segment_ends_.push_back(segments_.size());
}

void JpegList::add_pixels(const Candidate& candidate) {
  const auto& [frame, part, region, made, scan] = candidate;
  const std::int32_t pixels = region.height * region.width;
  for (std::int32_t first = 0; first < pixels; first += JpegPixels::kPixels) {
    pixel_tiles_.push_back({static_cast<std::int32_t>(pictures_.size()), first});
  }
  pictures_.push_back({.plane = scan.plane,
                       .components = made,
                       .across = frame.sampling.across,
                       .down = frame.sampling.down,
                       .smooth_across = part.smooth_across ? 1 : 0,
                       .smooth_down = part.smooth_down ? 1 : 0,
                       .chroma_height = part.chroma.height,
                       .chroma_width = part.chroma.width,
                       .top = region.top,
                       .left = region.left,
                       .height = region.height,
                       .width = region.width,
                       .first_row = size_.rows});
}

JpegList::Work JpegList::put(std::byte* memory, const std::byte* there, std::byte* work) const noexcept {
  Work made;
  auto& [huffman, transform, pixels, transform_blocks, pixel_blocks, input] = made;
  Packer packer(memory, there, size_.data);
  packer.put(std::span(kernel::jpeg::kZigzag).first<kJpegBlock>(), huffman.zigzag);
  packer.put(codes_, huffman.codes);
  packer.put(quantizers_, transform.quantizers);
  packer.put(restarts_, huffman.restarts);
  packer.put(planes_, huffman.planes);
  packer.put(scans_, huffman.scans);
  packer.put(segments_, huffman.segments);
  packer.put(pictures_, pixels.pictures);
  packer.put(transform_tiles_, transform.tiles);
  packer.put(pixel_tiles_, pixels.tiles);
  input = packer.end();
  transform_blocks = transform_tiles_.size();
  pixel_blocks = pixel_tiles_.size();

  const auto coefficients = static_cast<std::size_t>(size_.blocks) * kJpegBlock;
  auto* const bytes = reinterpret_cast<std::uint8_t*>(work);
  huffman.data = reinterpret_cast<const std::uint8_t*>(there);
  huffman.count = static_cast<std::int32_t>(segments_.size());
  huffman.coefficients = reinterpret_cast<std::int16_t*>(work);
  transform.coefficients = huffman.coefficients;
  transform.planes = pixels.planes = huffman.planes;
  transform.samples = bytes + coefficients * sizeof(std::int16_t);
  pixels.samples = transform.samples;
  pixels.pixels = transform.samples + coefficients;
  pixels.channels = channels_;
  pixels.channel_stride = 1;
  pixels.pixel_stride = channels_;
  pixels.row_stride = row_bytes();
  huffman.right = pixels.pixels + aligned(static_cast<std::size_t>(size_.rows * row_bytes()));
  return made;
}

}  // namespace drapps::device
