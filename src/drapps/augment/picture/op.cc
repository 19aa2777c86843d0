#include "drapps/augment/picture/op.h"

namespace drapps {

void Scratch::reset() noexcept {
  for (ImageBuffer& image : images_) image.reset();
  for (ImageBuffer& mask : masks_) mask.reset();
  resizer_.reset();
}

}  // namespace drapps
