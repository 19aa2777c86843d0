// Files in the coefficient form: see jpeg_list.h.
#include <algorithm>
#include <cstring>

#include "drapps/device/aligned.h"
#include "drapps/device/jpeg_list.h"
#include "drapps/kernel/jpeg/expand.h"

namespace drapps::device {
namespace {

using kernel::jpeg::kDcBytes;
using kernel::jpeg::kMaskBytes;
using kernel::jpeg::value_bytes;

constexpr std::size_t kPlaceBytes = sizeof(std::uint32_t);
static_assert(JpegRun::kHeadBytes == kMaskBytes + kPlaceBytes + kDcBytes);

std::size_t run_bytes(const jpeg::CoefficientReader::StoredBlocks& stored) noexcept {
  const std::size_t bytes = stored.blocks * JpegRun::kHeadBytes + value_bytes(stored.masks, stored.blocks);
  return (bytes + 7) / 8 * 8;
}

/// Writes the blocks of a run as JpegRun has them.
void put_run(std::byte* out, const jpeg::CoefficientReader::StoredBlocks& stored) noexcept {
  const std::size_t n = stored.blocks;
  std::byte* const places = out + kMaskBytes * n;
  std::byte* const dc = places + kPlaceBytes * n;
  std::memcpy(out, stored.masks, kMaskBytes * n);
  std::memcpy(dc, stored.dc, kDcBytes * n);
  std::uint32_t place = 0;
  for (std::size_t i = 0; i < n; ++i) {
    std::memcpy(places + kPlaceBytes * i, &place, kPlaceBytes);
    std::uint64_t mask;
    std::memcpy(&mask, stored.masks + kMaskBytes * i, kMaskBytes);
    place += static_cast<std::uint32_t>(value_bytes(mask));
  }
  std::memcpy(dc + kDcBytes * n, stored.values, place);
}

}  // namespace

Result<JpegTaken> JpegList::add_form(std::byte* memory, std::span<const std::uint8_t> bytes, const ImageInfo& info,
                                     const Rect& region) {
  const auto head = jpeg::read_coefficient_head(bytes);
  if (!head.ok() || head->frame.extent != info.stored) return JpegTaken::kNotHere;
  if (Status sound = form_.begin(bytes, *head); !sound.ok()) {
    if (sound.error().code == ErrorCode::kResourceExhausted) return sound.error();
    return JpegTaken::kNotHere;
  }
  const Candidate candidate(head->frame, region, head->frame.components);
  const auto& [rows, columns] = std::pair(candidate.part.rows, candidate.part.columns);
  Size size = size_;
  count(candidate, size);
  for (std::int32_t row = rows.begin; row < rows.end; ++row) {
    for (std::size_t run = 0; run < form_.runs(); ++run) {
      const auto stored = form_.stored(row, run, columns.begin, columns.size());
      size.data += run_bytes(stored);
      size.expand_tiles += (stored.blocks + JpegExpand::kThreads - 1) / JpegExpand::kThreads;
      ++size.runs;
    }
  }
  size.data = aligned(size.data);
  if (!has_room(size)) return without_room();
  add_planes(candidate);
  add_runs(memory, candidate);
  add_pixels(candidate);
  size_ = size;
  return JpegTaken::kTaken;
}

/// Adds the runs of a picture whose planes add_planes() has added.
void JpegList::add_runs(std::byte* memory, const Candidate& candidate) {
  const auto& [rows, columns] = std::pair(candidate.part.rows, candidate.part.columns);
  const auto down = static_cast<std::size_t>(candidate.frame.sampling.down);
  const JpegPlane* const planes = planes_.data() + planes_.size() - candidate.frame.components;
  std::size_t at = size_.data;
  for (std::int32_t row = rows.begin; row < rows.end; ++row) {
    for (std::size_t run = 0; run < form_.runs(); ++run) {
      const auto stored = form_.stored(row, run, columns.begin, columns.size());
      const bool luma = run < down;
      const JpegPlane& plane = planes[luma ? 0 : run - down + 1];
      const std::int64_t y =
          luma ? std::int64_t{row - rows.begin} * candidate.frame.sampling.down + static_cast<std::int64_t>(run)
               : row - rows.begin;
      for (std::int32_t first = 0; first < plane.across; first += JpegExpand::kThreads) {
        expand_tiles_.push_back({static_cast<std::int32_t>(runs_.size()), first});
      }
      runs_.push_back(
          {.data = static_cast<std::int64_t>(at), .block = plane.blocks + y * plane.across, .count = plane.across});
      put_run(memory + at, stored);
      at += run_bytes(stored);
    }
  }
}

}  // namespace drapps::device
