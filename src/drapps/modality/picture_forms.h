// The forms in which pictures are kept, and read again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "drapps/base/memory_ledger.h"
#include "drapps/base/result.h"
#include "drapps/cache/form/array_codec.h"
#include "drapps/cache/record_cache.h"
#include "drapps/data/buffer.h"
#include "drapps/data/image.h"
#include "drapps/data/picture.h"
#include "drapps/decode/jpeg/coefficients.h"

namespace drapps {

/// One thread; memory is kept, and charged to the ledger but for what coefficients are written to. What cannot be kept,
/// for lack of memory say, is left out.
class PictureForms {
 public:
  explicit PictureForms(MemoryLedger& ledger) : codec_(ledger), encoded_(ledger), transcoder_(ledger) {}

  /// What a picture takes in an array form at the least: for the question whether there is room for it.
  static std::size_t least_bytes(cache::FormId form, std::int32_t channels, Extent extent) noexcept;
  /// Keeps the pixels of a part, in its array form.
  /// @param saved_ns  of work that having them saves.
  void keep(cache::Request& request, RecordPart part, ConstImageView image, std::uint64_t saved_ns);
  /// Where its form is that: the coefficients of a JPEG, or the bytes of what has none here.
  void keep_coefficients(cache::Request& request, RecordPart part);

  /// An entry of a picture, valid until the next one is made. kResourceExhausted without memory to work in.
  /// @param form  an array form.
  Result<std::span<const std::uint8_t>> encode(cache::FormId form, ConstImageView image);
  /// Of the picture in an entry. kCorrupt for an entry that holds none.
  static Result<Extent> extent(std::span<const std::uint8_t> entry);
  /// A part of them, which lies within their extent: where they are kept if that can be, else in `into`. Not to be
  /// written to.
  Result<ImageView> read(std::span<const std::uint8_t> entry, const Rect& region, ImageBuffer& into);

  void reset() noexcept;

 private:
  cache::ArrayCodec codec_;
  Buffer encoded_;
  jpeg::Transcoder transcoder_;
  std::vector<std::uint8_t> coefficients_;
};

}  // namespace drapps
