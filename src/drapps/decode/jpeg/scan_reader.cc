#include "drapps/decode/jpeg/scan_reader.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "drapps/kernel/jpeg/unstuff.h"

namespace drapps::jpeg {

using kernel::jpeg::BlockTargets;
using kernel::jpeg::CodeClass;
using kernel::jpeg::kScanPadding;

Result<bool> ScanReader::begin(std::span<const std::uint8_t> bytes, const Frame& frame, ScanIndex* index) {
  // Places in the scan are counted in 32 bits.
  if (bytes.size() > std::numeric_limits<std::uint32_t>::max() / 8) return false;
  DRAPPS_RETURN_IF_ERROR(unstuff(bytes, frame.scan_begin));

  scan_.blocks = 0;
  for (std::int32_t i = 0; i < frame.components; ++i) {
    const std::uint8_t c = frame.scan_order[static_cast<std::size_t>(i)];
    const auto dc = tables_.get(CodeClass::kDc, frame.component[c].dc);
    if (!dc.ok()) return dc.error();
    const auto ac = tables_.get(CodeClass::kAc, frame.component[c].ac);
    if (!ac.ok()) return ac.error();
    if (*dc == nullptr || *ac == nullptr) return false;
    for (std::size_t b = c == 0 ? frame.luma_blocks() : 1; b > 0; --b) scan_.block[scan_.blocks++] = {c, *dc, *ac};
  }
  index_ = index;
  mcus_across_ = static_cast<std::uint32_t>(frame.mcus_across());
  mcus_ = std::uint64_t{mcus_across_} * static_cast<std::uint32_t>(frame.mcus_down());
  restart_interval_ = frame.restart_interval;
  at_ = 0;
  cursor_ = {};
  return arrive();
}

Status ScanReader::unstuff(std::span<const std::uint8_t> bytes, std::size_t from) {
  DRAPPS_RETURN_IF_ERROR(data_.ensure(bytes.size() - from + kScanPadding));
  restarts_.clear();
  std::size_t written = 0;
  while (true) {
    const auto part = kernel::jpeg::unstuff(data_.data() + written, bytes.data() + from, bytes.size() - from, level_);
    written += part.written;
    from += part.read;
    // The end marker follows, or, as the structural check has seen, the next restart marker.
    if (bytes.size() - from < 2 || (bytes[from + 1] & 0xF8) != 0xD0) break;
    restarts_.push_back(static_cast<std::uint32_t>(written));
    from += 2;
  }
  std::memset(data_.data() + written, 0, kScanPadding);
  scan_.data = data_.data();
  scan_.size = written;
  return ok_status();
}

bool ScanReader::read(std::int32_t row, std::int32_t first, std::int32_t count, const BlockTargets& targets) {
  const auto r = static_cast<std::uint32_t>(row), column = static_cast<std::uint32_t>(first);
  const std::uint64_t begin = std::uint64_t{r} * mcus_across_ + column;
  return jump(r, column) && advance(begin, nullptr) && advance(begin + static_cast<std::uint32_t>(count), &targets);
}

/// To the last known place at or before an MCU, where that is further than the cursor. False for a place that is none.
bool ScanReader::jump(std::uint32_t row, std::uint32_t column) {
  if (index_ == nullptr || index_->entries.empty()) return true;
  const IndexShape& shape = index_->shape;
  const std::uint32_t across = shape.groups_across();
  const std::uint64_t entry =
      std::min<std::uint64_t>(std::uint64_t{row} * across + column / shape.group, index_->entries.size() - 1);
  const std::uint64_t mcu = entry / across * mcus_across_ + entry % across * shape.group;
  if (mcu <= at_) return true;
  const IndexEntry& found = index_->entries[entry];
  if (found.bit() > scan_.size * 8) return false;
  at_ = mcu;
  cursor_.bit = found.bit();
  std::copy(std::begin(found.dc), std::end(found.dc), cursor_.dc.begin());
  return true;
}

/// Decodes (skips, without targets) up to MCU `to`, stopping wherever there is something to do between two MCUs.
bool ScanReader::advance(std::uint64_t to, const BlockTargets* targets) {
  BlockTargets next;
  if (targets != nullptr) next = *targets;
  while (at_ < to) {
    std::uint64_t count = to - at_;
    if (restart_interval_ != 0) count = std::min<std::uint64_t>(count, restart_interval_ - at_ % restart_interval_);
    if (index_ != nullptr) {
      const auto column = static_cast<std::uint32_t>(at_ % mcus_across_);
      const std::uint32_t group = index_->shape.group;
      count = std::min<std::uint64_t>(count, std::min(group - column % group, mcus_across_ - column));
    }
    if (targets == nullptr) {
      if (!kernel::jpeg::skip_mcus(scan_, cursor_, count, level_)) return false;
    } else {
      if (!kernel::jpeg::decode_mcus(scan_, cursor_, count, next, level_)) return false;
      for (std::size_t b = 0; b < scan_.blocks; ++b) next.at[b] += static_cast<std::ptrdiff_t>(count) * next.step[b];
    }
    at_ += count;
    if (!arrive()) return false;
  }
  return true;
}

/// Between two MCUs: past a restart marker, and into the index. False where the data contradicts itself.
bool ScanReader::arrive() {
  for (const std::int32_t predictor : cursor_.dc) {
    if (predictor != static_cast<std::int16_t>(predictor)) return false;
  }
  if (at_ == mcus_) return true;
  if (restart_interval_ != 0 && at_ % restart_interval_ == 0 && at_ != 0) {
    const std::uint64_t number = at_ / restart_interval_ - 1;
    cursor_.bit = (cursor_.bit + 7) & ~std::uint64_t{7};
    if (number >= restarts_.size() || cursor_.bit != std::uint64_t{restarts_[number]} * 8) return false;
    cursor_.dc = {};
  }
  if (index_ == nullptr) return true;
  const std::uint32_t group = index_->shape.group;
  const auto column = static_cast<std::uint32_t>(at_ % mcus_across_);
  if (column % group != 0) return true;
  const std::size_t number = at_ / mcus_across_ * index_->shape.groups_across() + column / group;
  IndexEntry entry;
  entry.bit_high = static_cast<std::uint16_t>(cursor_.bit >> 16);
  entry.bit_low = static_cast<std::uint16_t>(cursor_.bit);
  for (std::size_t c = 0; c < 3; ++c) entry.dc[c] = static_cast<std::int16_t>(cursor_.dc[c]);
  std::vector<IndexEntry>& entries = index_->entries;
  if (number < entries.size()) return entries[number] == entry;
  if (number == entries.size()) entries.push_back(entry);
  return true;
}

void ScanReader::reset() noexcept {
  data_.reset();
  tables_.reset();
}

}  // namespace drapps::jpeg
