// Huffman decoding of sequential JPEG scans, a thread for each segment: the MCUs from one entry of an index
// (decode/jpeg/index.h) to the next. A body: see body.h.
//
// 1. The data comes without stuffing and restart markers, as kernel/jpeg/huffman.h takes it. A thread has up to 64 bits
//    ahead, and loads a word of 32 where fewer than 32 of them are left: a code and its value have 27 at most.
// 2. Each thread notes whether its segment is right: every code is one, no bit lies beyond the data or the next restart
//    marker, and at the end stand the place and the predictors that the index has there. So an index that is wrong or
//    of another picture shows, as does damage. What libjpeg takes without a word is taken in the same way.
// 3. Only the MCUs that are asked for are written.
#pragma once

#include <cstdint>

#include "drapps/device/kernel/jpeg_planes.h"

namespace drapps::device {

/// One Huffman code, with entries as those of kernel::jpeg::HuffmanTable.
struct JpegCode {
  static constexpr std::int32_t kSingleBits = 9;
  std::uint32_t single[1 << kSingleBits];
  std::uint32_t limit[18];
  std::int32_t offset[17];
  std::uint32_t symbol[256];
};

/// One picture.
struct JpegScan {
  std::int64_t data = 0;              // bytes from JpegHuffmanArguments::data to the first; a multiple of 4
  std::uint32_t bits = 0;             // of the data, behind which kPadding zeros stand
  std::uint32_t interval = 0;         // MCUs between restart markers; 0: none
  std::int32_t restarts = 0;          // number of its first in JpegHuffmanArguments::restarts
  std::int32_t markers = 0;           // how many it has
  std::int32_t plane = 0;             // number of the first of its planes
  std::int32_t components = 0;        // 1 or 3
  std::int32_t across = 1, down = 1;  // blocks of component 0 in an MCU
  std::int32_t mcus_across = 0, mcus_down = 0;
  std::int32_t first_row = 0, first_column = 0, end_column = 0;  // the MCUs that are asked for
  std::int32_t dc[3] = {}, ac[3] = {};                           // numbers of codes, by component

  static constexpr std::int32_t kPadding = 512;  // bytes
};

/// A place in a scan, before an MCU.
struct JpegPlace {
  std::uint32_t bit = 0;
  std::int16_t dc[3] = {};
  std::int16_t known = 0;  // of the end of a segment: whether the index has it
};

struct JpegSegment {
  std::int32_t scan = 0;
  std::int32_t row = 0, column = 0;  // its first MCU
  std::int32_t count = 0;            // MCUs, of that row
  JpegPlace begin, end;
};

struct JpegHuffmanArguments {
  const std::uint8_t* data = nullptr;       // aligned to 4
  const std::uint32_t* restarts = nullptr;  // bytes of a scan's data before each of its restart markers
  const JpegScan* scans = nullptr;
  const JpegSegment* segments = nullptr;
  std::int32_t count = 0;  // segments
  const JpegCode* codes = nullptr;
  const std::uint8_t* zigzag = nullptr;  // [kJpegBlock]: where the coefficients of a block stand, as they are coded
  const JpegPlane* planes = nullptr;
  std::int16_t* coefficients = nullptr;  // [blocks][kJpegBlock]; aligned to 8
  std::uint8_t* right = nullptr;         // [count]: 1 for a segment that is right, else 0
};

/// The bits from a place on.
class JpegBits {
 public:
  JpegBits(const std::uint8_t* data, std::uint32_t bit) : words_(reinterpret_cast<const std::uint32_t*>(data)) {
    seek(bit);
  }

  void seek(std::uint32_t bit) {
    next_ = bit / 32;
    ahead_ = 0;
    count_ = 0;
    refill();
    take(static_cast<std::int32_t>(bit % 32));
  }
  /// At least 32 bits are ahead then.
  void refill() {
    while (count_ <= 32) {
      const std::uint32_t word = words_[next_++];
      const std::uint32_t swapped = word << 24 | (word << 8 & 0xFF0000) | (word >> 8 & 0xFF00) | word >> 24;
      ahead_ |= static_cast<std::uint64_t>(swapped) << (32 - count_);
      count_ += 32;
    }
  }
  /// `bits` below 64, and no more than are ahead.
  void take(std::int32_t bits) {
    ahead_ <<= bits;
    count_ -= bits;
  }
  std::uint32_t ahead() const { return static_cast<std::uint32_t>(ahead_ >> 32); }
  std::uint64_t bit() const { return std::uint64_t{32} * next_ - static_cast<std::uint64_t>(count_); }

 private:
  const std::uint32_t* words_;
  std::uint64_t next_ = 0;   // word
  std::uint64_t ahead_ = 0;  // left aligned
  std::int32_t count_ = 0;
};

/// One segment on its way.
class JpegSegmentDecoder {
 public:
  JpegSegmentDecoder(const JpegHuffmanArguments& arguments, const JpegSegment& segment, const std::uint8_t* zigzag)
      : a_(arguments),
        segment_(segment),
        scan_(arguments.scans[segment.scan]),
        zigzag_(zigzag),
        bits_(arguments.data + scan_.data, segment.begin.bit),
        dc_{segment.begin.dc[0], segment.begin.dc[1], segment.begin.dc[2]} {}

  /// False where the data is not what it should be; the coefficients are then in any state.
  bool run() {
    std::int32_t column = segment_.column;
    for (; column < segment_.column + segment_.count; ++column) {
      if (column != segment_.column && !pass_restart(column)) return false;
      if (!decode_mcu(column)) return false;
    }
    if (bits_.bit() > scan_.bits) return false;
    if (segment_.row + 1 == scan_.mcus_down && column == scan_.mcus_across) return true;
    if (!pass_restart(column)) return false;
    const JpegPlace& end = segment_.end;
    return end.known == 0 ||
           (bits_.bit() == end.bit && dc_[0] == end.dc[0] && dc_[1] == end.dc[1] && dc_[2] == end.dc[2]);
  }

 private:
  /// Before an MCU that is not the segment's first: goes over the restart marker where one is due, else checks that the
  /// bits are not beyond the next one.
  bool pass_restart(std::int32_t column) {
    if (scan_.interval == 0) return true;
    const std::uint32_t mcu = static_cast<std::uint32_t>(segment_.row) * static_cast<std::uint32_t>(scan_.mcus_across) +
                              static_cast<std::uint32_t>(column);
    const bool due = mcu % scan_.interval == 0;
    const auto number = static_cast<std::int64_t>(mcu / scan_.interval) - (due ? 1 : 0);
    if (number >= scan_.markers) return !due;
    const std::uint64_t marker = std::uint64_t{8} * a_.restarts[scan_.restarts + number];
    if (!due) return bits_.bit() <= marker;
    if (((bits_.bit() + 7) & ~std::uint64_t{7}) != marker) return false;
    bits_.seek(static_cast<std::uint32_t>(marker));
    dc_[0] = dc_[1] = dc_[2] = 0;
    return true;
  }

  bool decode_mcu(std::int32_t column) {
    const bool wanted = segment_.row >= scan_.first_row && column >= scan_.first_column && column < scan_.end_column;
    for (std::int32_t c = 0; c < scan_.components; ++c) {
      const std::int32_t across = c == 0 ? scan_.across : 1;
      const std::int32_t down = c == 0 ? scan_.down : 1;
      const JpegPlane& plane = a_.planes[scan_.plane + c];
      for (std::int32_t v = 0; v < down; ++v) {
        for (std::int32_t h = 0; h < across; ++h) {
          std::int16_t* block = nullptr;
          if (wanted) {
            const std::int64_t y = (segment_.row - scan_.first_row) * std::int64_t{down} + v;
            const std::int64_t x = (column - scan_.first_column) * std::int64_t{across} + h;
            block = a_.coefficients + (plane.blocks + y * plane.across + x) * kJpegBlock;
          }
          if (!decode_block(c, block)) return false;
        }
      }
      // Predictors are of 16 bits, or the scan is nothing that the host decodes by itself.
      if (dc_[c] != static_cast<std::int16_t>(dc_[c])) return false;
    }
    return true;
  }

  /// @param block  null: its coefficients are not asked for.
  bool decode_block(std::int32_t component, std::int16_t* block) {
    // What a block takes at most, the padding has.
    if (bits_.bit() > scan_.bits) return false;
    bits_.refill();
    const std::uint32_t first = find(a_.codes[scan_.dc[component]]);
    if (first == 0) return false;
    dc_[component] += take_value(first);
    if (block != nullptr) {
      auto* const words = reinterpret_cast<std::uint64_t*>(block);
      for (std::int32_t i = 0; i < kJpegBlock / 4; ++i) words[i] = 0;
      block[0] = static_cast<std::int16_t>(dc_[component]);
    }
    const JpegCode& ac = a_.codes[scan_.ac[component]];
    for (std::int32_t k = 1; k < kJpegBlock;) {
      bits_.refill();
      const std::uint32_t entry = find(ac);
      if (entry == 0) return false;
      k += static_cast<std::int32_t>(entry >> 16 & 0xFF);
      const std::int32_t value = take_value(entry);
      if (value == 0 || block == nullptr) continue;
      // A run past the end of the block, whose value goes where libjpeg puts it.
      block[k <= kJpegBlock ? zigzag_[k - 1] : kJpegBlock - 1] = static_cast<std::int16_t>(value);
    }
    return true;
  }

  std::uint32_t find(const JpegCode& code) const {
    const std::uint32_t ahead = bits_.ahead();
    const std::uint32_t entry = code.single[ahead >> (32 - JpegCode::kSingleBits)];
    if (entry != 0) return entry;
    const std::uint32_t head = ahead >> 16;
    std::uint32_t length = JpegCode::kSingleBits + 1;
    while (head >= code.limit[length]) ++length;
    if (length > 16) return 0;
    return code.symbol[static_cast<std::int32_t>(head >> (16 - length)) + code.offset[length]];
  }

  /// Takes a code and its value (T.81, F.2.2.1, EXTEND).
  std::int32_t take_value(std::uint32_t entry) {
    const std::uint32_t size = entry >> 24;
    std::int32_t value = 0;
    if (size != 0) {
      const auto raw = static_cast<std::int32_t>(bits_.ahead() << (entry >> 8 & 0xFF) >> (32 - size));
      value = raw >> (size - 1) != 0 ? raw : raw - (1 << size) + 1;
    }
    bits_.take(static_cast<std::int32_t>(entry & 0xFF));
    return value;
  }

  const JpegHuffmanArguments& a_;
  const JpegSegment& segment_;
  const JpegScan& scan_;
  const std::uint8_t* zigzag_;
  JpegBits bits_;
  std::int32_t dc_[3];
};

struct JpegHuffman {
  using Arguments = JpegHuffmanArguments;
  struct Shared {
    std::uint8_t zigzag[kJpegBlock];
  };
  static constexpr std::int32_t kThreads = 64;
  static constexpr std::int32_t kPhases = 2;

  static constexpr std::int64_t blocks(const Arguments& a) { return (a.count + kThreads - 1) / kThreads; }

  template <std::int32_t kPhase>
  static void phase(const Arguments& a, Shared& shared, std::int32_t block, std::int32_t thread) {
    if constexpr (kPhase == 0) {
      shared.zigzag[thread] = a.zigzag[thread];
    } else {
      const std::int32_t number = block * kThreads + thread;
      if (number >= a.count) return;
      const JpegSegment& segment = a.segments[number];
      const bool inside = segment.begin.bit <= a.scans[segment.scan].bits;
      a.right[number] = inside && JpegSegmentDecoder(a, segment, shared.zigzag).run() ? 1 : 0;
    }
  }
};
static_assert(JpegHuffman::kThreads == kJpegBlock, "a thread for each place of the order");

}  // namespace drapps::device
