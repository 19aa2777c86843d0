// Coefficients of a JPEG, by MCU: what pixels are made of, whatever the form they come from.
#pragma once

#include <array>
#include <cstdint>

#include "drapps/kernel/jpeg/huffman.h"

namespace drapps::jpeg {

/// Gives the coefficients of MCUs. It is asked from the top down, and within a row of MCUs from left to right; what is
/// left out is skipped.
class BlockSource {
 public:
  virtual ~BlockSource() = default;

  /// Coefficients of `count` MCUs of row `row` from column `first` on, quantised. False where the data is not what it
  /// should be; nothing more is then asked.
  virtual bool read(std::int32_t row, std::int32_t first, std::int32_t count,
                    const kernel::jpeg::BlockTargets& targets) = 0;

  /// Whether read_pair() of rows `row` and `row` + 1 is possible from column `first` on, and faster than one by one.
  virtual bool pairs(std::int32_t /*row*/, std::int32_t /*first*/) const { return false; }

  /// read() of two rows at once.
  virtual bool read_pair(std::int32_t row, std::int32_t first, std::int32_t count,
                         const std::array<kernel::jpeg::BlockTargets, 2>& targets) {
    return read(row, first, count, targets[0]) && read(row + 1, first, count, targets[1]);
  }
};

}  // namespace drapps::jpeg
