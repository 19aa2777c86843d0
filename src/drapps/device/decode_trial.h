// Pictures decoded on a device for who wants to look at them: tests, on any machine, and the check of one with a GPU.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "drapps/base/result.h"
#include "drapps/data/picture.h"
#include "drapps/device/device.h"

namespace drapps::device {

struct TrialPixels {
  bool there = false;                // false: the picture is for the CPU, and there are no pixels
  Extent extent;                     // of the stored picture, whatever its orientation
  std::vector<std::uint8_t> pixels;  // [height][width][channels], from the device
};

/// Decodes whole files, JPEGs by the index that the CPU learns of them first. Errors are those of the device, of
/// JpegDecoder, and of Decoder for a file that is bad.
/// @param channels  as JpegDecoder::make() takes them.
Result<std::vector<TrialPixels>> decode_on(Device& device, std::span<const std::span<const std::uint8_t>> files,
                                           std::int32_t channels);

}  // namespace drapps::device
