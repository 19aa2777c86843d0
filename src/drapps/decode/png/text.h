// How much text and how large a colour profile a PNG may hold: Pillow's limits, which refuse the whole file.
#pragma once

#include <cstddef>

#include "drapps/base/result.h"
#include "drapps/decode/png/structure.h"

namespace drapps::png {

/// Looks at iCCP, tEXt, zTXt and iTXt chunks in the order of the file; other chunks are fine. Compressed ones are
/// inflated where they could pass the limit, by memory from malloc.
class TextLimits {
 public:
  /// kCorrupt for a compression other than deflate, and for more than Pillow's MAX_TEXT_CHUNK in one compressed chunk
  /// or MAX_TEXT_MEMORY in all. Of iTXt, bytes are counted where Pillow counts characters.
  Status check(const Chunk& chunk);

 private:
  std::size_t total_ = 0;
};

}  // namespace drapps::png
