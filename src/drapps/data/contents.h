// What bytes are that somebody else made.
#pragma once

#include <cstdint>

#include "drapps/data/array.h"

namespace drapps {

/// In which form a part of a record is fetched, and so behind which stage it enters a plan.
struct Contents {
  bool decoded = false;  // as decoding leaves them, laid out as `layout` says; else the bytes of a file, which say more
  std::uint32_t ops = 0;  // how many of the plan's first ops have made a decoded part; they draw nothing
  PixelLayout layout;     // of a decoded picture's uint8
};

}  // namespace drapps
