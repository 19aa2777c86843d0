// Coefficients of a JPEG, by MCU: what pixels are made of, whatever the form they come from.
#pragma once

#include <cstdint>

#include "drapps/kernel/jpeg/huffman.h"

namespace drapps::jpeg {

/// Asked from the top down, and within a row of MCUs from left to right; what is left out is skipped.
class BlockSource {
 public:
  virtual ~BlockSource() = default;

  /// Coefficients of `count` MCUs of row `row` from column `first` on, quantised. False where the data is not what it
  /// should be; nothing more is then asked.
  virtual bool read(std::int32_t row, std::int32_t first, std::int32_t count,
                    const kernel::jpeg::BlockTargets& targets) = 0;
};

}  // namespace drapps::jpeg
