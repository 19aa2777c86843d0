// The coefficients of a file, by decoding its scan: from the nearest place that the index knows, or from the top.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "drapps/base/result.h"
#include "drapps/data/buffer.h"
#include "drapps/decode/jpeg/blocks.h"
#include "drapps/decode/jpeg/frame.h"
#include "drapps/decode/jpeg/index.h"
#include "drapps/decode/jpeg/tables.h"
#include "drapps/kernel/jpeg/huffman.h"
#include "drapps/kernel/level.h"

namespace drapps::jpeg {

/// One thread; memory is charged to the ledger and kept.
class ScanReader final : public BlockSource {
 public:
  explicit ScanReader(MemoryLedger& ledger, kernel::Level level = kernel::active_level())
      : level_(level), data_(ledger), tables_(ledger) {}

  /// Makes ready for the scan of a regular file. False for one that is left to libjpeg. kResourceExhausted as
  /// Buffer::ensure.
  /// @param index  null, or what is known of this picture, its shape set; it is extended in place by what reading
  ///               passes, and must outlive the reading.
  Result<bool> begin(std::span<const std::uint8_t> bytes, const Frame& frame, ScanIndex* index);

  bool read(std::int32_t row, std::int32_t first, std::int32_t count,
            const kernel::jpeg::BlockTargets& targets) override;

  /// Where the index knows both rows: their codes are then looked up in turn.
  bool pairs(std::int32_t row, std::int32_t first) const override;
  bool read_pair(std::int32_t row, std::int32_t first, std::int32_t count,
                 const std::array<kernel::jpeg::BlockTargets, 2>& targets) override;

  void reset() noexcept;

 private:
  /// A place between two MCUs of the scan.
  struct ScanPlace {
    std::uint64_t mcu = 0;  // the one behind the place
    kernel::jpeg::Cursor cursor;
  };

  std::uint64_t entry_of(std::uint32_t row, std::uint32_t column) const;
  bool jump(ScanPlace& place, std::uint32_t row, std::uint32_t column);
  std::uint64_t free_run(const ScanPlace& place) const;
  bool skip(ScanPlace& place, std::uint64_t to);
  bool arrive(ScanPlace& place, std::uint64_t count);
  bool check_in(ScanPlace& place);

  const kernel::Level level_;
  Buffer data_;
  TableCache tables_;
  kernel::jpeg::Scan scan_;
  std::vector<std::uint32_t> restarts_;  // offsets in data_ of what followed each restart marker
  ScanIndex* index_ = nullptr;
  std::uint32_t mcus_across_ = 0;
  std::uint32_t restart_interval_ = 0;
  std::uint64_t mcus_ = 0;
  ScanPlace place_, second_;  // of read(), and of the second row of read_pair()
};

}  // namespace drapps::jpeg
