#include "drapps/device/jpeg_list.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "drapps/base/caught.h"
#include "drapps/decode/check.h"
#include "drapps/device/aligned.h"
#include "drapps/kernel/jpeg/zigzag.h"

namespace drapps::device {
namespace {

constexpr std::size_t parts_of(std::int64_t all, std::int64_t part) noexcept {
  return static_cast<std::size_t>((all + part - 1) / part);
}

/// Lists one behind the other, at the same places in the host's memory and in the device's.
class ListPacker {
 public:
  ListPacker(std::byte* memory, const std::byte* there, std::size_t at) noexcept
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
  runs_.clear();
  pictures_.clear();
  expand_tiles_.clear();
  transform_tiles_.clear();
  pixel_tiles_.clear();
  segment_ends_.clear();
}

Result<JpegTaken> JpegList::add(std::byte* memory, std::span<const std::uint8_t> bytes, const ImageInfo& info,
                                const Rect& region, const jpeg::IndexUse& index) {
  DRAPPS_RETURN_IF_ERROR(check_region(region, info.stored));
  // Pixels and blocks of a picture are counted in 32 bits.
  if (std::int64_t{region.height} * region.width > std::numeric_limits<std::int32_t>::max() / 2) {
    return JpegTaken::kNotHere;
  }
  const std::size_t codes = codes_.size();
  Result<JpegTaken> taken = catching([&]() -> Result<JpegTaken> {
    switch (info.format) {
      case ImageFormat::kJpeg: return add_scan(memory, bytes, info, region, index);
      case ImageFormat::kCoefficients: return add_form(memory, bytes, info, region);
      default: return JpegTaken::kNotHere;
    }
  });
  if (!taken.ok()) {
    clear();  // some of the lists may have more of a picture than others
  } else if (*taken != JpegTaken::kTaken) {
    // Room was counted without the codes of a picture that is not taken.
    codes_.resize(codes);
    known_codes_.resize(codes);
  }
  return taken;
}

void JpegList::count(const Candidate& candidate, Size& size) const noexcept {
  const auto& [frame, part, region, components] = candidate;
  for (std::int32_t c = 0; c < frame.components; ++c) {
    const std::int64_t each = c == 0 ? static_cast<std::int64_t>(frame.luma_blocks()) : 1;
    const std::int64_t blocks = each * part.rows.size() * part.columns.size();
    size.blocks += blocks;
    if (c < components) size.transform_tiles += parts_of(blocks, JpegTransform::kBlocks);
  }
  size.pixel_tiles += parts_of(std::int64_t{region.height} * region.width, JpegPixels::kPixels);
  size.rows += region.height;
  size.widest = std::max(size.widest, region.width);
  size.planes += static_cast<std::size_t>(frame.components);
  ++size.pictures;
}

bool JpegList::has_room(const Size& size) const noexcept {
  const std::size_t tiles = aligned(size.expand_tiles * sizeof(JpegTile)) +
                            aligned(size.transform_tiles * sizeof(JpegTile)) +
                            aligned(size.pixel_tiles * sizeof(JpegTile));
  const std::size_t input = size.data + aligned(kJpegBlock) + aligned(codes_.size() * sizeof(JpegCode)) +
                            aligned(size.planes * sizeof(quantizers_[0])) +
                            aligned(size.restarts * sizeof(std::uint32_t)) + aligned(size.planes * sizeof(JpegPlane)) +
                            aligned(size.scans * sizeof(JpegScan)) + aligned(size.segments * sizeof(JpegSegment)) +
                            aligned(size.runs * sizeof(JpegRun)) + aligned(size.pictures * sizeof(JpegPicture)) + tiles;
  const auto blocks = static_cast<std::size_t>(size.blocks);
  const auto pixels = static_cast<std::size_t>(size.rows * size.widest * channels_);
  const std::size_t work = blocks * kJpegBlock * (sizeof(std::int16_t) + 1) + aligned(pixels) + aligned(size.segments);
  return input <= bounds_.input && work <= bounds_.work;
}

void JpegList::add_planes(const Candidate& candidate) {
  const auto& [frame, part, region, components] = candidate;
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
    for (std::int32_t first = 0; first < count && c < components; first += JpegTransform::kBlocks) {
      transform_tiles_.push_back({static_cast<std::int32_t>(planes_.size()), first});
    }
    planes_.push_back(plane);
    blocks += count;
  }
}

void JpegList::add_pixels(const Candidate& candidate) {
  const auto& [frame, part, region, components] = candidate;
  const std::int32_t pixels = region.height * region.width;
  for (std::int32_t first = 0; first < pixels; first += JpegPixels::kPixels) {
    pixel_tiles_.push_back({static_cast<std::int32_t>(pictures_.size()), first});
  }
  pictures_.push_back({.plane = static_cast<std::int32_t>(planes_.size()) - frame.components,
                       .components = components,
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
  segment_ends_.push_back(segments_.size());
}

JpegList::JpegWork JpegList::put(std::byte* memory, const std::byte* there, std::byte* work) const noexcept {
  JpegWork launches;
  auto& [huffman, expand, transform, pixels, expand_blocks, transform_blocks, pixel_blocks, input] = launches;
  ListPacker packer(memory, there, size_.data);
  packer.put(std::span(kernel::jpeg::kZigzag).first<kJpegBlock>(), huffman.zigzag);
  packer.put(codes_, huffman.codes);
  packer.put(quantizers_, transform.quantizers);
  packer.put(restarts_, huffman.restarts);
  packer.put(planes_, huffman.planes);
  packer.put(scans_, huffman.scans);
  packer.put(segments_, huffman.segments);
  packer.put(runs_, expand.runs);
  packer.put(pictures_, pixels.pictures);
  packer.put(expand_tiles_, expand.tiles);
  packer.put(transform_tiles_, transform.tiles);
  packer.put(pixel_tiles_, pixels.tiles);
  input = packer.end();
  expand_blocks = static_cast<std::int64_t>(expand_tiles_.size());
  transform_blocks = static_cast<std::int64_t>(transform_tiles_.size());
  pixel_blocks = static_cast<std::int64_t>(pixel_tiles_.size());

  const auto coefficients = static_cast<std::size_t>(size_.blocks) * kJpegBlock;
  auto* const bytes = reinterpret_cast<std::uint8_t*>(work);
  huffman.data = reinterpret_cast<const std::uint8_t*>(there);
  huffman.count = static_cast<std::int32_t>(segments_.size());
  expand.data = huffman.data;
  huffman.coefficients = expand.coefficients = reinterpret_cast<std::int16_t*>(work);
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
  return launches;
}

}  // namespace drapps::device
