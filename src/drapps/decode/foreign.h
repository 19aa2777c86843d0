// Pictures of formats that the core does not read, by something outside of it.
#pragma once

#include <cstdint>
#include <span>

#include "drapps/base/attachment.h"
#include "drapps/base/result.h"
#include "drapps/data/image.h"

namespace drapps {

class ForeignReader : public Attachment {
 public:
  /// The whole picture as three planes in `out`. Called by many workers at once.
  virtual Result<ImageView> read(std::span<const std::uint8_t> bytes, ImageBuffer& out) const noexcept = 0;
};

}  // namespace drapps
