#include "drapps/decode/jpeg/scan_reader.h"

#include <algorithm>
#include <limits>

#include "drapps/decode/jpeg/scan_bytes.h"

namespace drapps::jpeg {

using kernel::jpeg::BlockTargets;
using kernel::jpeg::CodeClass;
using kernel::jpeg::kScanPadding;

namespace {

void move_on(BlockTargets& targets, std::uint64_t count, std::size_t blocks) {
  for (std::size_t b = 0; b < blocks; ++b) targets.at[b] += static_cast<std::ptrdiff_t>(count) * targets.step[b];
}

}  // namespace

Result<bool> ScanReader::begin(std::span<const std::uint8_t> bytes, const Frame& frame, ScanIndex* index) {
  // Places in the scan are counted in 32 bits.
  if (bytes.size() > std::numeric_limits<std::uint32_t>::max() / 8) return false;
  DRAPPS_RETURN_IF_ERROR(data_.ensure(bytes.size() - frame.scan_begin + kScanPadding));
  scan_.size = unstuff_scan(data_.data(), bytes, frame.scan_begin, restarts_, level_);
  scan_.data = data_.data();

  scan_.blocks = 0;
  for (std::int32_t c = 0; c < frame.components; ++c) {
    const Component& component = frame.component[static_cast<std::size_t>(c)];
    const auto dc = tables_.get(CodeClass::kDc, component.dc);
    if (!dc.ok()) return dc.error();
    const auto ac = tables_.get(CodeClass::kAc, component.ac);
    if (!ac.ok()) return ac.error();
    if (*dc == nullptr || *ac == nullptr) return false;
    for (std::size_t b = c == 0 ? frame.luma_blocks() : 1; b > 0; --b) {
      scan_.block[scan_.blocks++] = {static_cast<std::uint8_t>(c), *dc, *ac};
    }
  }
  index_ = index;
  mcus_across_ = static_cast<std::uint32_t>(frame.mcus_across());
  mcus_ = std::uint64_t{mcus_across_} * static_cast<std::uint32_t>(frame.mcus_down());
  restart_interval_ = frame.restart_interval;
  place_ = second_ = {};
  return check_in(place_);
}

bool ScanReader::read(std::int32_t row, std::int32_t first, std::int32_t count, const BlockTargets& targets) {
  const auto r = static_cast<std::uint32_t>(row), column = static_cast<std::uint32_t>(first);
  const std::uint64_t begin = std::uint64_t{r} * mcus_across_ + column;
  const std::uint64_t end = begin + static_cast<std::uint32_t>(count);
  if (!jump(place_, r, column) || !skip(place_, begin)) return false;
  BlockTargets next = targets;
  while (place_.mcu < end) {
    const std::uint64_t run = std::min(end - place_.mcu, free_run(place_));
    if (!kernel::jpeg::decode_mcus(scan_, place_.cursor, run, next, level_) || !arrive(place_, run)) return false;
    move_on(next, run, scan_.blocks);
  }
  return true;
}

bool ScanReader::pairs(std::int32_t row, std::int32_t first) const {
  return index_ != nullptr &&
         entry_of(static_cast<std::uint32_t>(row) + 1, static_cast<std::uint32_t>(first)) < index_->entries.size();
}

bool ScanReader::read_pair(std::int32_t row, std::int32_t first, std::int32_t count,
                           const std::array<BlockTargets, 2>& targets) {
  const auto r = static_cast<std::uint32_t>(row), column = static_cast<std::uint32_t>(first);
  const std::uint64_t begin = std::uint64_t{r} * mcus_across_ + column;
  const std::uint64_t end = begin + static_cast<std::uint32_t>(count);
  if (!jump(place_, r, column) || !skip(place_, begin)) return false;
  if (!jump(second_, r + 1, column) || !skip(second_, begin + mcus_across_)) return false;
  std::array<BlockTargets, 2> next = targets;
  while (place_.mcu < end) {
    const std::uint64_t run = std::min({end - place_.mcu, free_run(place_), free_run(second_)});
    if (!kernel::jpeg::decode_two(scan_, {&place_.cursor, &second_.cursor}, run, next, level_)) return false;
    if (!arrive(place_, run) || !arrive(second_, run)) return false;
    for (BlockTargets& each : next) move_on(each, run, scan_.blocks);
  }
  return true;
}

std::uint64_t ScanReader::entry_of(std::uint32_t row, std::uint32_t column) const {
  return std::uint64_t{row} * index_->shape.groups_across() + column / index_->shape.group;
}

/// Moves `place` to the last known place at or before an MCU, where that is further on. False where it is outside the
/// scan.
bool ScanReader::jump(ScanPlace& place, std::uint32_t row, std::uint32_t column) {
  if (index_ == nullptr || index_->entries.empty()) return true;
  const IndexShape& shape = index_->shape;
  const std::uint64_t entry = std::min<std::uint64_t>(entry_of(row, column), index_->entries.size() - 1);
  const std::uint32_t across = shape.groups_across();
  const std::uint64_t mcu = entry / across * mcus_across_ + entry % across * shape.group;
  if (mcu <= place.mcu) return true;
  const IndexEntry& point = index_->entries[entry];
  if (point.bit() > scan_.size * 8) return false;
  place.mcu = mcu;
  place.cursor.bit = point.bit();
  std::copy(std::begin(point.dc), std::end(point.dc), place.cursor.dc.begin());
  return true;
}

/// MCUs until there is something to do between two of them.
std::uint64_t ScanReader::free_run(const ScanPlace& place) const {
  // Predictors are looked at between runs, long before they can leave 32 bits.
  constexpr std::uint64_t kLongest = 1 << 16;
  std::uint64_t run = std::min(mcus_ - place.mcu, kLongest);
  if (restart_interval_ != 0) run = std::min<std::uint64_t>(run, restart_interval_ - place.mcu % restart_interval_);
  if (index_ == nullptr) return run;
  const auto column = static_cast<std::uint32_t>(place.mcu % mcus_across_);
  const std::uint32_t group = index_->shape.group;
  return std::min<std::uint64_t>(run, std::min(group - column % group, mcus_across_ - column));
}

bool ScanReader::skip(ScanPlace& place, std::uint64_t to) {
  while (place.mcu < to) {
    const std::uint64_t run = std::min(to - place.mcu, free_run(place));
    if (!kernel::jpeg::skip_mcus(scan_, place.cursor, run, level_) || !arrive(place, run)) return false;
  }
  return true;
}

/// Moves `place` behind `count` more MCUs. False where the data contradicts itself.
bool ScanReader::arrive(ScanPlace& place, std::uint64_t count) {
  place.mcu += count;
  for (const std::int32_t predictor : place.cursor.dc) {
    if (predictor != static_cast<std::int16_t>(predictor)) return false;
  }
  return place.mcu == mcus_ || check_in(place);
}

/// What there is to do before an MCU: a restart marker, an entry of the index. False where the data contradicts itself.
bool ScanReader::check_in(ScanPlace& place) {
  if (restart_interval_ != 0 && place.mcu % restart_interval_ == 0 && place.mcu != 0) {
    const std::uint64_t number = place.mcu / restart_interval_ - 1;
    place.cursor.bit = (place.cursor.bit + 7) & ~std::uint64_t{7};
    if (number >= restarts_.size() || place.cursor.bit != std::uint64_t{restarts_[number]} * 8) return false;
    place.cursor.dc = {};
  } else if (restart_interval_ != 0) {
    // Bits behind the next restart marker are not what libjpeg takes for missing ones.
    const std::uint64_t number = place.mcu / restart_interval_;
    if (number < restarts_.size() && place.cursor.bit > std::uint64_t{restarts_[number]} * 8) return false;
  }
  if (index_ == nullptr) return true;
  const auto row = static_cast<std::uint32_t>(place.mcu / mcus_across_);
  const auto column = static_cast<std::uint32_t>(place.mcu % mcus_across_);
  if (column % index_->shape.group != 0) return true;
  IndexEntry entry;
  entry.bit_high = static_cast<std::uint16_t>(place.cursor.bit >> 16);
  entry.bit_low = static_cast<std::uint16_t>(place.cursor.bit);
  for (std::size_t c = 0; c < 3; ++c) entry.dc[c] = static_cast<std::int16_t>(place.cursor.dc[c]);
  std::vector<IndexEntry>& entries = index_->entries;
  const std::uint64_t number = entry_of(row, column);
  if (number < entries.size()) return entries[number] == entry;
  if (number == entries.size()) entries.push_back(entry);
  return true;
}

void ScanReader::reset() noexcept {
  data_.reset();
  tables_.reset();
}

}  // namespace drapps::jpeg
