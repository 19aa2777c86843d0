// What stands in front of the pixels of a JPEG as most are written, for who holds it as Pillow does.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "drapps/data/picture.h"

namespace drapps::jpeg {

struct PlainHeader {
  struct Text {
    std::uint8_t marker;  // APP0 to APP15, or COM
    std::span<const std::uint8_t> body;
  };
  struct Quantizer {
    std::uint8_t number;
    std::array<std::uint8_t, 64> values;  // row by row
  };
  struct Layer {
    std::uint8_t id, horizontal, vertical, quantizer;
  };

  Extent extent;
  std::vector<Layer> layers;          // 1 or 3
  std::vector<Quantizer> quantizers;  // as they stand in the file; of two with one number the later one counts
  std::vector<Text> texts;            // as they stand in the file, whose bytes they are
  std::size_t end = 0;                // offset of the entropy-coded data
};

/// Reads the segments of a sequential Huffman picture of 8 bits. Empty for all else: other frames, tables of 16 bits,
/// bytes between segments, a header that is damaged or ends behind `bytes`, and application segments whose contents
/// Pillow reads (EXIF, XMP, colour profiles, Photoshop, several pictures), but for JFIF and Adobe ones of full length.
std::optional<PlainHeader> read_plain_header(std::span<const std::uint8_t> bytes);

}  // namespace drapps::jpeg
