// Pictures and files for the tests of this folder.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <jpeglib.h>
#include <png.h>
#include <webp/encode.h>

#include "drapps/data/image.h"
#include "drapps/data/picture.h"

namespace drapps::testing {

using Bytes = std::vector<std::uint8_t>;

/// Interleaved pixels: gradients under noise, so that flat and dense blocks occur. The same for the same arguments.
inline Bytes photo(Extent extent, int channels, std::uint32_t seed = 1) {
  Bytes pixels(static_cast<std::size_t>(extent.height) * extent.width * channels);
  std::uint32_t state = seed;
  std::size_t at = 0;
  for (int y = 0; y < extent.height; ++y) {
    for (int x = 0; x < extent.width; ++x) {
      for (int c = 0; c < channels; ++c) {
        state = state * 1664525u + 1013904223u;
        const int noise = static_cast<int>(state >> 27);
        pixels[at++] = static_cast<std::uint8_t>((x * (c + 2) + y * (5 - c) + noise * (y / 16 % 3)) & 0xFF);
      }
    }
  }
  return pixels;
}

struct JpegOptions {
  int channels = 3;                  // 1 gray, 3 YCbCr, 4 CMYK
  int horizontal = 1, vertical = 1;  // sampling factors of the first component
  bool progressive = false;
  unsigned restart_interval = 0;  // in MCUs
  int quality = 85;
  bool optimize = false;   // Huffman tables of its own
  bool baseline = true;    // quantisers of 8 bits
  bool rgb = false;        // components are R, G and B
  bool jfif = true;        // says so in a marker
  std::uint32_t seed = 1;  // of the noise
  int flat = 0;            // lowest bits of the pixels that are dropped
};

inline Bytes encode_jpeg(Extent extent, const JpegOptions& options) {
  Bytes pixels = photo(extent, options.channels, options.seed);
  for (std::uint8_t& pixel : pixels) pixel = static_cast<std::uint8_t>(pixel >> options.flat << options.flat);
  jpeg_compress_struct cinfo;
  jpeg_error_mgr errors;
  cinfo.err = jpeg_std_error(&errors);
  errors.emit_message = [](j_common_ptr, int) {};
  jpeg_create_compress(&cinfo);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&cinfo, &memory, &size);
  cinfo.image_width = static_cast<JDIMENSION>(extent.width);
  cinfo.image_height = static_cast<JDIMENSION>(extent.height);
  cinfo.input_components = options.channels;
  cinfo.in_color_space = options.channels == 1 ? JCS_GRAYSCALE : options.channels == 3 ? JCS_RGB : JCS_CMYK;
  jpeg_set_defaults(&cinfo);
  if (options.rgb) jpeg_set_colorspace(&cinfo, JCS_RGB);
  if (!options.jfif) cinfo.write_JFIF_header = FALSE;
  cinfo.optimize_coding = options.optimize ? TRUE : FALSE;
  jpeg_set_quality(&cinfo, options.quality, options.baseline ? TRUE : FALSE);
  cinfo.comp_info[0].h_samp_factor = options.horizontal;
  cinfo.comp_info[0].v_samp_factor = options.vertical;
  cinfo.restart_interval = options.restart_interval;
  if (options.progressive) jpeg_simple_progression(&cinfo);
  jpeg_start_compress(&cinfo, TRUE);
  while (cinfo.next_scanline < cinfo.image_height) {
    JSAMPLE* row = &pixels[std::size_t{cinfo.next_scanline} * extent.width * options.channels];
    jpeg_write_scanlines(&cinfo, &row, 1);
  }
  jpeg_finish_compress(&cinfo);
  jpeg_destroy_compress(&cinfo);
  Bytes file(memory, memory + size);
  std::free(memory);
  return file;
}

inline Bytes encode_png(Extent extent) {
  const Bytes pixels = photo(extent, 3);
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(extent.width);
  image.height = static_cast<png_uint_32>(extent.height);
  image.format = PNG_FORMAT_RGB;
  Bytes file(PNG_IMAGE_PNG_SIZE_MAX(image));
  png_alloc_size_t size = file.size();
  png_image_write_to_memory(&image, file.data(), &size, 0, pixels.data(), 0, nullptr);
  file.resize(size);
  return file;
}

inline Bytes encode_webp(Extent extent) {
  const Bytes pixels = photo(extent, 3);
  std::uint8_t* memory = nullptr;
  const std::size_t size = WebPEncodeLosslessRGB(pixels.data(), extent.width, extent.height, 3 * extent.width, &memory);
  Bytes file(memory, memory + size);
  WebPFree(memory);
  return file;
}

/// The pixels of a view, plane by plane, without what stands between its rows.
inline Bytes pixels_of(const ConstImageView& view) {
  Bytes pixels;
  for (std::int32_t c = 0; c < view.channels; ++c) {
    for (std::int32_t y = 0; y < view.height; ++y) {
      pixels.insert(pixels.end(), view.row(c, y), view.row(c, y) + view.width);
    }
  }
  return pixels;
}

}  // namespace drapps::testing
