// The inverse transform against libjpeg-turbo itself. Coefficients go in by jpeg_write_coefficients, in arithmetic
// coding, which carries 16 bits where Huffman coding carries 10; the transform does not depend on how they came.
//
// libjpeg-turbo has to run its SIMD code, which is what the kernels follow: the C code differs for hostile blocks.
#include <gtest/gtest.h>
#include <jpeglib.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <random>
#include <vector>

#include "drapps/kernel/jpeg/idct.h"

namespace drapps::jpeg {
namespace {

using kernel::jpeg::kBlock;

constexpr std::size_t kAcross = 23, kDown = 11, kCount = kAcross * kDown;

struct alignas(64) Block {
  std::int16_t at[kBlock];
};

using Random = std::mt19937;

/// A grey picture of kAcross x kDown blocks as a JPEG file.
std::vector<std::uint8_t> written(const std::vector<Block>& blocks, const Block& quant) {
  jpeg_compress_struct cinfo;
  jpeg_error_mgr errors;
  cinfo.err = jpeg_std_error(&errors);
  jpeg_create_compress(&cinfo);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&cinfo, &memory, &size);
  cinfo.image_width = 8 * kAcross;
  cinfo.image_height = 8 * kDown;
  cinfo.input_components = 1;
  cinfo.in_color_space = JCS_GRAYSCALE;
  jpeg_set_defaults(&cinfo);
  cinfo.arith_code = TRUE;
  for (std::size_t i = 0; i < kBlock; ++i) {
    cinfo.quant_tbl_ptrs[0]->quantval[i] = static_cast<UINT16>(quant.at[i]);
  }
  jvirt_barray_ptr arrays[]{
      (*cinfo.mem->request_virt_barray)(reinterpret_cast<j_common_ptr>(&cinfo), JPOOL_IMAGE, TRUE, kAcross, kDown, 1)};
  (*cinfo.mem->realize_virt_arrays)(reinterpret_cast<j_common_ptr>(&cinfo));
  for (std::size_t row = 0; row < kDown; ++row) {
    const JBLOCKARRAY target = (*cinfo.mem->access_virt_barray)(reinterpret_cast<j_common_ptr>(&cinfo), arrays[0],
                                                                static_cast<JDIMENSION>(row), 1, TRUE);
    for (std::size_t b = 0; b < kAcross; ++b) std::copy_n(blocks[row * kAcross + b].at, kBlock, target[0][b]);
  }
  jpeg_write_coefficients(&cinfo, arrays);
  jpeg_finish_compress(&cinfo);
  jpeg_destroy_compress(&cinfo);
  std::vector<std::uint8_t> file(memory, memory + size);
  std::free(memory);
  return file;
}

std::vector<std::uint8_t> decoded(const std::vector<std::uint8_t>& file) {
  jpeg_decompress_struct cinfo;
  jpeg_error_mgr errors;
  cinfo.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&cinfo);
  jpeg_mem_src(&cinfo, file.data(), file.size());
  jpeg_read_header(&cinfo, TRUE);
  cinfo.dct_method = JDCT_ISLOW;
  jpeg_start_decompress(&cinfo);
  std::vector<std::uint8_t> pixels(kCount * kBlock);
  while (cinfo.output_scanline < cinfo.output_height) {
    JSAMPROW row = pixels.data() + cinfo.output_scanline * 8 * kAcross;
    jpeg_read_scanlines(&cinfo, &row, 1);
  }
  EXPECT_EQ(errors.num_warnings, 0);  // or the coefficients did not arrive
  jpeg_finish_decompress(&cinfo);
  jpeg_destroy_decompress(&cinfo);
  return pixels;
}

void expect_the_same(const std::vector<Block>& blocks, const Block& quant) {
  const std::vector<std::uint8_t> expected = decoded(written(blocks, quant));
  for (const kernel::Level level : kernel::supported_levels()) {
    std::vector<std::uint8_t> pixels(expected.size());
    for (std::size_t row = 0; row < kDown; ++row) {
      kernel::jpeg::inverse_dct(pixels.data() + row * kBlock * kAcross, 8 * kAcross, blocks[row * kAcross].at, kAcross,
                                quant.at, level);
    }
    ASSERT_EQ(pixels, expected) << kernel::name_of(level);
  }
}

std::int16_t between(Random& random, int low, int high) {
  return static_cast<std::int16_t>(low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1)));
}

/// Any 16 bits, often the first numbers that overflow somewhere.
std::int16_t extreme(Random& random) {
  constexpr std::int16_t kEdges[]{-32767, -16385, -8193, -8192, -1, 1, 8191, 8192, 16384, 32767};
  return random() % 2 == 0 ? kEdges[random() % std::size(kEdges)] : between(random, -32767, 32767);
}

/// `number()` for all coefficients, for a few, for the first row, the first column, the first alone, or the first row
/// and one other.
template <class Number>
Block block_of(Random& random, Number number) {
  Block block{};
  switch (random() % 6) {
    case 0: std::generate_n(block.at, kBlock, number); break;
    case 1:
      for (int i = 0; i < 5; ++i) block.at[random() % kBlock] = number();
      break;
    case 2: std::generate_n(block.at, 8, number); break;
    case 3:
      for (std::size_t i = 0; i < kBlock; i += 8) block.at[i] = number();
      break;
    case 4: block.at[0] = number(); break;
    default: std::generate_n(block.at, 8, number); block.at[8 + random() % 56] = number();
  }
  return block;
}

/// Pictures of such blocks, each with quantisers of its own. The first coefficient is coded as a difference to the
/// block before, which must fit 16 bits as well: a picture has them all of one sign.
template <class Number, class Quant>
void compare(std::uint32_t seed, Number number, Quant quantiser) {
  Random random(seed);
  for (int turn = 0; turn < 40; ++turn) {
    Block quant;
    std::generate_n(quant.at, kBlock, [&] { return quantiser(random); });
    std::vector<Block> blocks(kCount);
    for (Block& block : blocks) {
      block = block_of(random, [&] { return number(random); });
      const int first = std::abs(static_cast<int>(block.at[0]));
      block.at[0] = static_cast<std::int16_t>(turn % 2 == 0 ? first : -first);
    }
    expect_the_same(blocks, quant);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

std::int16_t of_8_bits(Random& random) { return between(random, 1, 255); }
std::int16_t of_16_bits(Random& random) { return static_cast<std::int16_t>(random() % 65535 + 1); }

TEST(InverseDctAgainstLibjpeg, CoefficientsOfUsualSize) {
  compare(1, [](Random& random) { return between(random, -60, 60); }, of_8_bits);
  compare(2, [](Random& random) { return between(random, -1024, 1023); }, [](Random&) { return std::int16_t{1}; });
}

TEST(InverseDctAgainstLibjpeg, CoefficientsThatOverflowOnceTheyAreMultiplied) {
  compare(3, [](Random& random) { return between(random, -1024, 1023); }, of_8_bits);
  compare(4, [](Random& random) { return between(random, -1024, 1023); }, of_16_bits);
}

TEST(InverseDctAgainstLibjpeg, CoefficientsThatOverflowByThemselves) {
  compare(5, extreme, [](Random&) { return std::int16_t{1}; });
  compare(6, extreme, of_8_bits);
  compare(7, extreme, of_16_bits);
}

// Powers of two make products of zero from coefficients that are none.
TEST(InverseDctAgainstLibjpeg, ProductsThatWrapToZero) {
  compare(
      8, [](Random& random) { return static_cast<std::int16_t>(between(random, -7, 7) * 4096); },
      [](Random& random) { return static_cast<std::int16_t>(1 << random() % 16); });
}

}  // namespace
}  // namespace drapps::jpeg
