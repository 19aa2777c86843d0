// MixUp and CutMix on a batch that lies on a device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "drapps/batch/mix_draws.h"
#include "drapps/batch/row.h"
#include "drapps/device/device.h"

namespace drapps::device {

/// The first `rows` rows of both columns of a batch on a device.
struct MixedColumns {
  std::byte* pictures;
  std::byte* labels;  // float32, one for each class
  std::uint32_t rows;
  std::int64_t classes;
};

/// Asks for what Mixer::run() does with such a draw. Errors are those of the launches.
/// @param writer  of the pictures.
Status launch_mix(Stream& stream, const MixedColumns& columns, const PictureWriter& writer, const MixDraw& draw);

}  // namespace drapps::device
