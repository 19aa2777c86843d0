// JPEGs with an index: see jpeg_list.h.
#include <algorithm>
#include <limits>
#include <optional>

#include "drapps/decode/jpeg/scan_bytes.h"
#include "drapps/device/aligned.h"
#include "drapps/device/jpeg_list.h"

namespace drapps::device {
namespace {

using jpeg::Frame;
using kernel::jpeg::CodeClass;
using kernel::jpeg::HuffmanTable;
using kernel::jpeg::kScanPadding;

static_assert(JpegScan::kPadding == kScanPadding && kJpegBlock == kernel::jpeg::kBlock);
static_assert(JpegCode::kSingleBits == HuffmanTable::kSingleBits);

JpegCode code_of(const HuffmanTable& table) noexcept {
  JpegCode code{};
  std::copy(table.single.begin(), table.single.end(), code.single);
  std::copy(table.limit.begin(), table.limit.end(), code.limit);
  std::copy(table.offset.begin(), table.offset.end(), code.offset);
  std::copy(table.symbol.begin(), table.symbol.end(), code.symbol);
  return code;
}

}  // namespace

Result<JpegTaken> JpegList::add_scan(std::byte* memory, std::span<const std::uint8_t> bytes, const ImageInfo& info,
                                     const Rect& region, const jpeg::IndexUse& index) {
  // Places in the scan are counted in 32 bits.
  if (info.irregular || bytes.size() > std::numeric_limits<std::uint32_t>::max() / 8) return JpegTaken::kNotHere;
  const std::optional<Frame> frame = jpeg::read_frame(bytes);
  if (!frame || frame->extent != info.stored) return JpegTaken::kNotHere;
  const Candidate candidate(*frame, region, info.luma ? 1 : frame->components);
  if (!knows_part(bytes, candidate, index)) return JpegTaken::kNotHere;
  if (size_.data + bytes.size() - frame->scan_begin + kScanPadding + kPadding > bounds_.input) return without_room();
  JpegScan scan{.data = static_cast<std::int64_t>(size_.data),
                .interval = frame->restart_interval,
                .restarts = static_cast<std::int32_t>(restarts_.size()),
                .plane = static_cast<std::int32_t>(planes_.size()),
                .components = frame->components,
                .across = frame->sampling.across,
                .down = frame->sampling.down,
                .mcus_across = frame->mcus_across(),
                .mcus_down = frame->mcus_down(),
                .first_row = candidate.part.rows.begin,
                .first_column = candidate.part.columns.begin,
                .end_column = candidate.part.columns.end};
  const Result<bool> coded = find_codes(*frame, scan);
  if (!coded.ok()) return coded.error();
  if (!*coded) return JpegTaken::kNotHere;
  // What lies behind the bytes of the pictures is free until all are there.
  const std::size_t written =
      jpeg::unstuff_scan(reinterpret_cast<std::uint8_t*>(memory) + size_.data, bytes, frame->scan_begin, markers_);
  scan.bits = static_cast<std::uint32_t>(written * 8);
  scan.markers = static_cast<std::int32_t>(markers_.size());

  Size size = size_;
  count(candidate, size);
  size.data += aligned(written + kScanPadding);
  size.restarts += markers_.size();
  ++size.scans;
  const jpeg::McuRange columns = candidate.part.columns;
  const auto group = static_cast<std::int32_t>(index_.shape.group);
  const std::int32_t groups = (columns.end - 1) / group - columns.begin / group + 1;
  // In each row, with the segment before its first one: see add_segments().
  size.segments += static_cast<std::size_t>(candidate.part.rows.size()) * (static_cast<std::size_t>(groups) + 1);
  if (!has_room(size)) return without_room();

  restarts_.insert(restarts_.end(), markers_.begin(), markers_.end());
  add_planes(candidate);
  add_segments(candidate, scan.interval != 0);
  add_pixels(candidate);
  scans_.push_back(scan);
  size_ = size;
  return JpegTaken::kTaken;
}

/// Whether there is an index of these bytes that has the begins of all segments.
bool JpegList::knows_part(std::span<const std::uint8_t> bytes, const Candidate& candidate,
                          const jpeg::IndexUse& index) {
  if (index.store == nullptr || !index.store->get(index.key, index_)) return false;
  const jpeg::IndexShape& shape = index_.shape;
  // The first entry is the only one that no segment ends at.
  if (index_.entries.empty() || index_.entries[0] != jpeg::IndexEntry{}) return false;
  if (shape.group == 0 || shape != jpeg::shape_of(candidate.frame, bytes, shape.group)) return false;
  const auto row = static_cast<std::size_t>(candidate.part.rows.end - 1);
  const auto group = static_cast<std::uint32_t>(candidate.part.columns.end - 1) / shape.group;
  if (row * shape.groups_across() + group >= index_.entries.size()) return false;
  if (index.known != nullptr) {
    *index.known = index_.entries.size() == shape.entries() ? Learned::kAll : Learned::kPart;
  }
  return true;
}

/// False for a code that is left to libjpeg.
Result<bool> JpegList::find_codes(const Frame& frame, JpegScan& scan) {
  for (std::size_t c = 0; c < static_cast<std::size_t>(frame.components); ++c) {
    const jpeg::Component& component = frame.component[c];
    const auto dc = code_number(CodeClass::kDc, component.dc);
    if (!dc.ok()) return dc.error();
    const auto ac = code_number(CodeClass::kAc, component.ac);
    if (!ac.ok()) return ac.error();
    if (*dc < 0 || *ac < 0) return false;
    scan.dc[c] = *dc;
    scan.ac[c] = *ac;
  }
  return true;
}

/// The number of a code in the list of codes; -1 for one that is left to libjpeg.
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

JpegPlace JpegList::place(std::size_t entry) const noexcept {
  if (entry >= index_.entries.size()) return {};
  const jpeg::IndexEntry& at = index_.entries[entry];
  return {.bit = at.bit(), .dc = {at.dc[0], at.dc[1], at.dc[2]}, .known = 1};
}

void JpegList::add_segments(const Candidate& candidate, bool restarts) {
  const auto& [frame, part, region, components] = candidate;
  const std::size_t groups_across = index_.shape.groups_across();
  const auto group = static_cast<std::int32_t>(index_.shape.group);
  std::size_t next = 0;  // the first entry at which no segment of this picture has ended
  const auto add = [&](std::size_t entry) {
    const auto column = static_cast<std::int32_t>(entry % groups_across) * group;
    segments_.push_back({.scan = static_cast<std::int32_t>(scans_.size()),
                         .row = static_cast<std::int32_t>(entry / groups_across),
                         .column = column,
                         .count = std::min(group, frame.mcus_across() - column),
                         .begin = place(entry),
                         .end = place(entry + 1)});
    next = entry + 2;
  };
  for (std::int32_t row = part.rows.begin; row < part.rows.end; ++row) {
    const std::size_t first_of_row = static_cast<std::size_t>(row) * groups_across;
    const std::size_t first = first_of_row + static_cast<std::size_t>(part.columns.begin / group);
    const std::size_t last = first_of_row + static_cast<std::size_t>((part.columns.end - 1) / group);
    // An end that is not known says nothing of the begin, nor does one behind a restart marker of the predictors there.
    // The end of the segment before does.
    const bool unsaid = restarts || first + 1 == index_.entries.size();
    if (unsaid && first >= next && first > 0) add(first - 1);
    for (std::size_t entry = first; entry <= last; ++entry) add(entry);
  }
}

}  // namespace drapps::device
