// The coefficient form: a JPEG whose Huffman codes are undone, so that a crop costs its pixels and nothing else.
//
// Twice the bytes of the JPEG, the same pixels to the last bit. A file in this form, made by transcode(), is a picture
// like any other: Decoder reads it, and any source may hold it. Its extension is ".djc".
//
// The format, version 1. Numbers are little-endian; everything stands at a multiple of 64 bytes, a lane:
//
//   lane 0     0  magic           89 'D' 'J' 'C' 0D 0A 1A 0A
//              8  version         u32, 1
//             12  lanes of head   u32: lanes 0, 1, the tables and the rows' directory
//             16  sum             u64, lane_sum() of the head from lane 1 on
//             24  zeros
//   lane 1    64  width, height   u32 each
//             72  components      u8: 1 gray, 3 YCbCr
//             73  across, down    u8 each: blocks of component 0 in an MCU, as in Sampling; the others have one
//             75  orientation     u8: 1 … 8, what EXIF or XMP of the JPEG said; 1 where they said nothing
//             76  zeros
//   tables   128  u16[64] for each component: its quantisers, in the order of a block (row by row)
//   directory     u64[rows]: lane_sum() of each row of MCUs; then u32[rows]: its lanes; then zeros
//   rows          one behind the other: masks, u64 a block; then DC coefficients, s16 a block; then the values of all
//                 blocks (expand.h); then zeros. In each of the three the blocks are in this order: the rows of blocks
//                 of component 0 from the top down, then component 1, then component 2, each from left to right. They
//                 are whole MCUs, beyond the edges of the picture too.
//   last lane     zeros, so that vectors may be loaded wherever a value starts
//
// What protects it. inspect_coefficients() checks the head and the length of the file. A CoefficientReader checks, for
// every region alike, the sums of all rows and that masks and values fit each other; so a flipped bit anywhere makes
// the file kCorrupt, a missing end makes it kTruncated, and neither ever depends on the region or gives wrong pixels.
// Sums are no signatures: a forged file may show any pixels, but reads nothing outside its own bytes, and takes no more
// memory than 24 bytes for each row of MCUs that it has.
//
// Which columns a row's values belong to follows from its masks: as many values as bits before them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "drapps/base/memory_ledger.h"
#include "drapps/base/result.h"
#include "drapps/data/buffer.h"
#include "drapps/decode/jpeg/blocks.h"
#include "drapps/decode/jpeg/frame.h"
#include "drapps/decode/jpeg/render.h"
#include "drapps/decode/jpeg/scan_reader.h"
#include "drapps/decode/types.h"
#include "drapps/kernel/level.h"

namespace drapps::jpeg {

/// The head of a file, checked.
struct CoefficientHead {
  Frame frame;  // without codes, restart markers and a scan; components in their order
  std::uint8_t orientation = 1;
  std::span<const std::uint8_t> sums, lanes;  // the directory: u64 and u32 for each row
  std::size_t rows_begin = 0;
};

/// kTruncated for a file that ends early; kUnsupported for one of a later version; kCorrupt for one whose head or
/// length is not what it says.
Result<CoefficientHead> read_coefficient_head(std::span<const std::uint8_t> bytes);

/// As Decoder::inspect(): errors of read_coefficient_head(), and kTooLarge.
Result<ImageInfo> inspect_coefficients(std::span<const std::uint8_t> bytes, const DecodeOptions& options);

/// Blocks of a file in the coefficient form. One thread; memory is charged to the ledger and kept.
class CoefficientReader final : public BlockSource {
 public:
  explicit CoefficientReader(MemoryLedger& ledger, kernel::Level level = kernel::active_level()) noexcept
      : level_(level), places_(ledger) {}

  /// Checks all rows and makes ready to read them; `bytes` must outlive that. kCorrupt where anything is damaged;
  /// kResourceExhausted as Buffer::ensure.
  Status begin(std::span<const std::uint8_t> bytes, const CoefficientHead& head);

  /// Always true: begin() has seen everything.
  /// @param targets  the blocks of a row of a component lie one behind the other, as Renderer has them.
  bool read(std::int32_t row, std::int32_t first, std::int32_t count,
            const kernel::jpeg::BlockTargets& targets) override;

  /// Rows of blocks in a row of MCUs: those of component 0 from the top down, then one of each other component.
  std::size_t runs() const noexcept { return run_count_; }

  /// Blocks as the file has them: see expand.h.
  struct StoredBlocks {
    const std::uint8_t* masks;
    const std::uint8_t* dc;
    const std::uint8_t* values;
    std::size_t blocks;
  };
  /// The stored blocks of `count` MCUs of row `row` from column `first` on, in run `run`.
  StoredBlocks stored(std::int32_t row, std::size_t run, std::int32_t first, std::int32_t count) const noexcept;

  void reset() noexcept { places_.reset(); }

 private:
  static constexpr std::size_t kMaxRuns = 4;
  /// Blocks of one row of blocks of one component: the unit that expand() works on.
  struct BlockRun {
    std::size_t across = 1;  // blocks in an MCU
    std::size_t begin = 0;   // blocks of the row of MCUs before it
    std::size_t target = 0;  // block of an MCU, as BlockTargets counts
  };
  struct McuRowPlace {
    std::uint64_t begin = 0;           // of a row of MCUs, in the file
    std::uint32_t values[kMaxRuns]{};  // of each run, from `begin` on
  };
  static_assert(sizeof(McuRowPlace) == 24);

  McuRowPlace place_of(std::int32_t row) const noexcept;

  const kernel::Level level_;
  std::span<const std::uint8_t> bytes_;
  std::size_t mcus_across_ = 0;
  std::size_t blocks_ = 0;  // of a row of MCUs
  std::size_t run_count_ = 0;
  std::array<BlockRun, kMaxRuns> runs_{};
  Buffer places_;
  std::int32_t row_ = -1;                               // that the last read() was of
  std::int32_t column_ = 0;                             // MCU behind those that the last read() was of
  std::array<const std::uint8_t*, kMaxRuns> values_{};  // of the MCU at column_, in each run
};

/// Pixels of files in the coefficient form. One thread; memory is charged to the ledger and kept.
class CoefficientDecoder {
 public:
  explicit CoefficientDecoder(MemoryLedger& ledger, kernel::Level level = kernel::active_level()) noexcept
      : reader_(ledger, level), renderer_(ledger, level) {}

  /// Writes `region` of the stored picture (orientation is the caller's) into `out`, as Renderer::render().
  /// @param info  what inspect_coefficients() gave.
  Status read(std::span<const std::uint8_t> bytes, const ImageInfo& info, const Rect& region, const ImageView& out);

  void reset() noexcept;

 private:
  CoefficientReader reader_;
  Renderer renderer_;
};

/// Makes files in the coefficient form. One thread; working memory is charged to the ledger and kept.
class Transcoder {
 public:
  explicit Transcoder(MemoryLedger& ledger, kernel::Level level = kernel::active_level())
      : level_(level), scan_(ledger, level), row_(ledger) {}

  /// Replaces `out` by the form of a JPEG; at an error it is empty. The picture decodes to the same pixels, orientation
  /// included; other metadata stays behind. Errors are those of Decoder::inspect(), and kUnsupported for a JPEG that
  /// this decoder leaves to libjpeg (progressive, CMYK, damaged, …) and for other files: keep those as they are.
  Status transcode(std::span<const std::uint8_t> jpeg, std::vector<std::uint8_t>& out);

  void reset() noexcept;

 private:
  Status write(std::span<const std::uint8_t> jpeg, std::vector<std::uint8_t>& out);

  const kernel::Level level_;
  ScanReader scan_;
  Buffer row_;  // coefficients of a row of MCUs, then the row in the form
};

}  // namespace drapps::jpeg
