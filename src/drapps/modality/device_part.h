// What a device needs to make a part of the samples.
#pragma once

#include <cstddef>

#include "drapps/augment/picture/op.h"
#include "drapps/augment/picture/trail.h"
#include "drapps/batch/mix.h"
#include "drapps/batch/row.h"
#include "drapps/modality/modality.h"

namespace drapps {

/// The part's column, of the pictures of an array.
struct DevicePart {
  std::size_t column = 0;                 // in the layout
  const PictureWriter* writer = nullptr;  // of its rows
  const Mixer* mixer = nullptr;           // of whole batches, or none
  std::size_t mix_draws = 0;              // with which of the part's draws it draws
};

}  // namespace drapps
