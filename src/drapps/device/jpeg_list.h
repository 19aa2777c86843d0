// What one decoding of JPEGs on a device works on: the bytes of their scans or of their coefficients, and lists for the
// kernels jpeg_scan.h or jpeg_expand.h, jpeg_transform.h and jpeg_pixels.h.
//
// A file in the coefficient form is taken where it is sound. A JPEG is taken where its file is regular, of a kind that
// decode/jpeg/ decodes itself, and where an index knows where all segments of its part begin. Each begin is checked: by
// the end of its own segment, which the index has too; or, where the index ends with it or a restart marker lies
// between, by the end of the segment before. All other pictures are not for a device, and the CPU has the verdict on
// them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "drapps/base/memory_ledger.h"
#include "drapps/base/result.h"
#include "drapps/decode/jpeg/coefficients.h"
#include "drapps/decode/jpeg/frame.h"
#include "drapps/decode/jpeg/index.h"
#include "drapps/decode/jpeg/part.h"
#include "drapps/decode/jpeg/tables.h"
#include "drapps/decode/types.h"
#include "drapps/device/kernel/jpeg_expand.h"
#include "drapps/device/kernel/jpeg_pixels.h"
#include "drapps/device/kernel/jpeg_scan.h"
#include "drapps/device/kernel/jpeg_transform.h"

namespace drapps::device {

/// Bytes that the pictures of one decoding may take together.
struct JpegBounds {
  std::size_t input = std::size_t{32} << 20;  // of what is copied to the device
  std::size_t work = std::size_t{256} << 20;  // of coefficients, samples and pixels there
};

enum class JpegTaken : std::uint8_t {
  kTaken,
  kFull,    // there is no room beside those that were taken
  kNotHere  // this picture is for the CPU
};

/// Filled picture by picture, then copied; reused. For one thread at a time.
class JpegList {
 public:
  /// @param channels  of the pixels: 1 or 3.
  JpegList(MemoryLedger& ledger, std::int32_t channels, const JpegBounds& bounds)
      : channels_(channels), bounds_(bounds), tables_(ledger), form_(ledger) {}

  /// Forgets all pictures.
  void clear() noexcept;

  /// The next picture, whose bytes are copied. kInvalidArgument for a region that is none of the picture;
  /// kResourceExhausted where the host has no memory, and all pictures are then forgotten.
  /// @param memory  bounds.input bytes of the host, aligned to 64; the same from one clear() to the next.
  /// @param info    what Decoder::inspect() gave for these bytes.
  /// @param region  of the stored picture; orientation is the caller's.
  /// @param index   what is known of a JPEG; its `known` is set where that is enough.
  Result<JpegTaken> add(std::byte* memory, std::span<const std::uint8_t> bytes, const ImageInfo& info,
                        const Rect& region, const jpeg::IndexUse& index);

  std::size_t pictures() const noexcept { return pictures_.size(); }
  /// The part of a picture, and where its pixels begin.
  const JpegPicture& picture(std::size_t i) const noexcept { return pictures_[i]; }
  std::int64_t row_bytes() const noexcept { return std::int64_t{size_.widest} * channels_; }
  /// Where each picture's segments end among all of them; one of coefficients has none.
  std::span<const std::size_t> segment_ends() const noexcept { return segment_ends_; }

  struct JpegWork {
    JpegHuffmanArguments huffman;
    JpegExpandArguments expand;
    JpegTransformArguments transform;
    JpegPixelsArguments pixels;
    std::int64_t expand_blocks = 0, transform_blocks = 0, pixel_blocks = 0;  // of threads
    std::size_t input = 0;                                                   // bytes to be copied
  };
  /// Puts the lists behind the bytes of the scans.
  /// @param memory  as add() had it.
  /// @param there   where it will lie on the device.
  /// @param work    bounds.work bytes of the device, aligned to 256.
  JpegWork put(std::byte* memory, const std::byte* there, std::byte* work) const noexcept;

 private:
  /// How much there is of everything.
  struct Size {
    std::size_t data = 0;     // bytes of scans and coefficients
    std::int64_t blocks = 0;  // of coefficients
    std::int64_t rows = 0;    // of pixels
    std::int32_t widest = 0;  // of the pictures
    std::size_t pictures = 0, planes = 0, scans = 0, restarts = 0, segments = 0, runs = 0;
    std::size_t expand_tiles = 0, transform_tiles = 0, pixel_tiles = 0;
  };
  /// One picture, before it is known whether there is room for it.
  struct Candidate {
    Candidate(const jpeg::Frame& of, const Rect& wanted, std::int32_t pixel_components)
        : frame(of), part(of, wanted), region(wanted), components(pixel_components) {}

    jpeg::Frame frame;
    jpeg::McuPart part;
    Rect region;
    std::int32_t components;  // components that pixels are made of
  };

  // jpeg_list_scan.cc
  Result<JpegTaken> add_scan(std::byte* memory, std::span<const std::uint8_t> bytes, const ImageInfo& info,
                             const Rect& region, const jpeg::IndexUse& index);
  bool knows_part(std::span<const std::uint8_t> bytes, const Candidate& candidate, const jpeg::IndexUse& index);
  Result<bool> find_codes(const jpeg::Frame& frame, JpegScan& scan);
  Result<std::int32_t> code_number(kernel::jpeg::CodeClass kind, std::span<const std::uint8_t> code);
  JpegPlace place(std::size_t entry) const noexcept;
  void add_segments(const Candidate& candidate, bool restarts);

  // jpeg_list_form.cc
  Result<JpegTaken> add_form(std::byte* memory, std::span<const std::uint8_t> bytes, const ImageInfo& info,
                             const Rect& region);
  void add_runs(std::byte* memory, const Candidate& candidate);

  /// Adds to `size` what pictures of both kinds have, JPEGs and files in the coefficient form.
  void count(const Candidate& candidate, Size& size) const noexcept;
  bool has_room(const Size& size) const noexcept;
  /// The answer where there is no room for a picture.
  JpegTaken without_room() const noexcept { return pictures_.empty() ? JpegTaken::kNotHere : JpegTaken::kFull; }
  void add_planes(const Candidate& candidate);
  void add_pixels(const Candidate& candidate);

  const std::int32_t channels_;
  const JpegBounds bounds_;
  jpeg::TableCache tables_;
  jpeg::CoefficientReader form_;
  jpeg::ScanIndex index_;               // of the picture at hand
  std::vector<std::uint32_t> markers_;  // of the picture at hand

  Size size_;
  std::vector<std::vector<std::uint8_t>> known_codes_;  // what codes_ are made of, behind a byte of their kind
  std::vector<JpegCode> codes_;
  std::vector<std::array<std::int16_t, kJpegBlock>> quantizers_;
  std::vector<std::uint32_t> restarts_;
  std::vector<JpegPlane> planes_;
  std::vector<JpegScan> scans_;
  std::vector<JpegSegment> segments_;
  std::vector<JpegRun> runs_;
  std::vector<JpegPicture> pictures_;
  std::vector<JpegTile> expand_tiles_, transform_tiles_, pixel_tiles_;
  std::vector<std::size_t> segment_ends_;
};

}  // namespace drapps::device
