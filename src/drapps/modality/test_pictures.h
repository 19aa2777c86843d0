// Small pictures for tests, made on the spot, and pipelines of them.
#pragma once

#include <png.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "drapps/modality/picture.h"

namespace drapps::testing_pictures {

/// A PNG of noise that `seed` decides.
inline std::vector<std::uint8_t> png(std::uint32_t height, std::uint32_t width, std::uint32_t seed) {
  std::vector<std::uint8_t> pixels(std::size_t{height} * width * 3);
  std::uint32_t state = seed * 2654435761u + 1;
  for (auto& pixel : pixels) pixel = static_cast<std::uint8_t>((state = state * 1664525u + 1013904223u) >> 24);
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = width;
  image.height = height;
  image.format = PNG_FORMAT_RGB;
  png_alloc_size_t bytes = 0;
  png_image_write_to_memory(&image, nullptr, &bytes, 0, pixels.data(), 0, nullptr);
  std::vector<std::uint8_t> encoded(bytes);
  png_image_write_to_memory(&image, encoded.data(), &bytes, 0, pixels.data(), 0, nullptr);
  encoded.resize(bytes);
  return encoded;
}

/// A part of pictures, described.
inline SamplePart picture_part(PictureFields fields) {
  return {"image", std::make_shared<PicturePart>(std::move(fields))};
}

}  // namespace drapps::testing_pictures
