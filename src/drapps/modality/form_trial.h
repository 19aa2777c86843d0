// What each form makes of a picture: measured, on the user's own files.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "drapps/base/result.h"
#include "drapps/data/picture.h"

namespace drapps {

/// One form of one picture. Times are thread-CPU ns, the least of the repetitions.
struct FormTrial {
  std::string form;             // as in "form" of a loader's options
  bool holds = true;            // false: it is kept as bytes, whose numbers these are
  std::uint64_t bytes = 0;      // that are kept
  std::uint64_t make_ns = 0;    // from the bytes of the file
  std::uint64_t whole_ns = 0;   // from the kept bytes to all pixels
  std::uint64_t region_ns = 0;  // from the kept bytes to half the pixels: the middle, 0.7 of either side
  std::int32_t error = 0;       // the largest difference of a pixel to those of the file
};

struct PictureTrial {
  std::string format;  // "jpeg", "png", "webp", "coefficients"
  std::uint8_t depth = 8;
  std::int32_t channels = 0;
  Extent extent;
  std::uint64_t bytes = 0;  // of the file
  std::vector<FormTrial> forms;
};

/// Tries every form on the bytes of a picture. Errors are those of Decoder::inspect() and decode().
/// @param times  repetitions, at least one.
Result<PictureTrial> try_forms(std::span<const std::uint8_t> file, std::uint32_t times);

}  // namespace drapps
