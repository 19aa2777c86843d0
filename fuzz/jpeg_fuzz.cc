#include "decode_target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return drapps::fuzz::try_bytes(drapps::ImageFormat::kJpeg, {data, size});
}
