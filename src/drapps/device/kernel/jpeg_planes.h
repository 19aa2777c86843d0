// What the kernels that decode JPEGs share: where the coefficients and samples of pictures lie on the device.
#pragma once

#include <cstdint>

namespace drapps::device {

/// One component of one picture, as far as it is decoded: whole blocks, row by row. The samples of a row of blocks
/// follow each other without a gap.
struct JpegPlane {
  std::int64_t blocks = 0;   // to its first block, in all blocks of coefficients
  std::int64_t samples = 0;  // bytes to its first sample, in all samples; a multiple of 8
  std::int32_t across = 0;   // blocks in a row
  std::int32_t down = 0;     // rows of blocks
  std::int32_t quantizer = 0;
  std::int32_t left = 0, top = 0;  // of its first sample, in the plane of the whole picture
};

/// The work of one block of threads: some of the blocks of a plane, or of the pixels of a picture, from `first` on.
struct JpegTile {
  std::int32_t of = 0;
  std::int32_t first = 0;
};

inline constexpr std::int32_t kJpegBlock = 64;  // coefficients, and samples, of a block

}  // namespace drapps::device
