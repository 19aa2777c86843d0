// Compressed pictures to planes of pixels: JPEG, PNG and WebP, recognised by content.
//
// Pixels equal the installed Pillow's byte for byte, and so does the verdict on whether a file is bad. Both depend on
// the file alone, never on the region asked for: inspect() makes one structural check, decode() reads only the rows and
// columns it needs where that check says that this is safe, and the whole picture otherwise.
//
//   Decoder decoder(ledger);                                     // one per worker, kept
//   auto info = decoder.inspect(bytes, options);                 // a few microseconds; may be remembered per file
//   auto view = decoder.decode(bytes, *info, region, options, out);
//
// Failures are Errors of stage kDecode with the byte offset where one is known:
//   kTruncated           the file ends early, or is empty
//   kCorrupt             it contradicts its format
//   kUnsupported         it is something else (the message says what), or a variant that nothing here reads
//   kTooLarge            more pixels than DecodeOptions::max_pixels
//   kInvalidArgument     the region does not lie within the picture
//   kResourceExhausted   the RAM budget or the system has no memory left
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "drapps/base/memory_ledger.h"
#include "drapps/base/result.h"
#include "drapps/decode/jpeg/index.h"
#include "drapps/decode/types.h"
#include "drapps/kernel/level.h"

namespace drapps {

/// A JPEG of which headers and structure have shown that Pillow reads it without an error, whatever its entropy-coded
/// data hold.
struct SoundJpeg {
  ImageInfo info;
  std::int32_t channels = 3;  // 1 gray, 3 YCbCr
};

/// Used by one thread at a time. All memory is charged to the ledger and kept from picture to picture, so that JPEG and
/// PNG allocate nothing in the steady state; libwebp takes its working memory from malloc.
class Decoder {
 public:
  explicit Decoder(MemoryLedger& ledger, kernel::Level level = kernel::active_level());
  ~Decoder();
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  /// Reads the header and makes the structural check. Decodes nothing, and allocates nothing but what libwebpdemux, and
  /// zlib for the compressed texts of a PNG, take for the moment.
  /// A file that only decoding shows to be bad passes here and fails in decode().
  Result<ImageInfo> inspect(std::span<const std::uint8_t> bytes, const DecodeOptions& options);

  /// The pixels of exactly `region` of the picture, in the coordinates of info.extent: a view of `out`, three planes
  /// (RGB) or one (gray).
  /// @param info   what inspect() gave for these bytes and options.
  /// @param memory null, or where what this decode learns of a JPEG is kept for the next one of the same file.
  Result<ImageView> decode(std::span<const std::uint8_t> bytes, const ImageInfo& info, const Rect& region,
                           const DecodeOptions& options, ImageBuffer& out, const jpeg::IndexUse* memory = nullptr);

  /// The SoundJpeg that these bytes are. Nothing for any other picture, whose verdict takes decoding, and for what is
  /// no picture. kResourceExhausted where there is no memory.
  Result<std::optional<SoundJpeg>> judge(std::span<const std::uint8_t> bytes);

  /// Frees all memory; the next picture takes it anew.
  void reset() noexcept;

 private:
  struct DecoderState;
  std::unique_ptr<DecoderState> state_;
};

}  // namespace drapps
