// The forms in which pictures can be kept, and how they are read again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "drapps/base/memory_ledger.h"
#include "drapps/base/result.h"
#include "drapps/cache/form/array_codec.h"
#include "drapps/data/buffer.h"
#include "drapps/data/image.h"
#include "drapps/data/picture.h"
#include "drapps/decode/jpeg/coefficients.h"

namespace drapps {

/// One thread; memory is kept, and charged to the ledger but for what coefficients are written to.
class PictureForms {
 public:
  explicit PictureForms(MemoryLedger& ledger) : codec_(ledger), encoded_(ledger), transcoder_(ledger) {}

  /// What a picture takes in an array form at the least: for the question whether there is room for it.
  static std::size_t least_bytes(cache::FormId form, std::int32_t channels, Extent extent) noexcept;
  /// An entry of a picture, valid until the next one is made. kResourceExhausted without memory to work in.
  /// @param form  an array form.
  Result<std::span<const std::uint8_t>> encode(cache::FormId form, ConstImageView image);
  /// An entry of the coefficients of a JPEG, valid until the next one is made. Any error for what has none here.
  Result<std::span<const std::uint8_t>> coefficients(std::span<const std::uint8_t> file);
  /// The extent of the picture in an entry. kCorrupt for an entry that holds none.
  static Result<Extent> extent(std::span<const std::uint8_t> entry);
  /// The pixels of a region of the picture in an entry, which lies within its extent: where they are kept if that can
  /// be, else in `into`. Not to be written to.
  Result<ImageView> read(std::span<const std::uint8_t> entry, const Rect& region, ImageBuffer& into);

  void reset() noexcept;

 private:
  cache::ArrayCodec codec_;
  Buffer encoded_;
  jpeg::Transcoder transcoder_;
  std::vector<std::uint8_t> coefficients_;
};

}  // namespace drapps
