// The last step of a picture: bytes to numbers, straight into its row of a batch.
//
//   auto normalizer = Normalizer::standard(mean, std);
//   DRAPPS_RETURN_IF_ERROR(normalizer->check(picture.channels, format));
//   normalizer->store(row, picture, format);  // row_size() bytes
//
// 1. A channel has only 256 input values, so a normalisation *is* a table of 256 numbers. It is defined by
//    what torchvision's ToTensor and Normalize give: ((x / 255) - mean) / std, each step rounded to float32;
//    or by the table itself, for what another framework computes.
// 2. Every SIMD level either looks the table up, or computes by an arithmetic that was checked, when the
//    Normalizer was made, to give all 256 numbers of every channel. So all levels give the same bits.
// 3. bfloat16 and float16 are the float32 number rounded to nearest, ties to even (base/half.h).
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "drapps/base/result.h"
#include "drapps/data/dtype.h"
#include "drapps/data/image.h"
#include "drapps/kernel/level.h"

namespace drapps::kernel {

/// How bytes come into [0, 1]. The results differ in the last bit of some values.
enum class Scaling : std::uint8_t {
  kDivide,      // x / 255, as torchvision's ToTensor
  kReciprocal,  // x · (1 / 255 rounded to float32), as torchvision's v2.ToDtype
};

/// How one picture lies in its row of a batch.
struct RowFormat {
  Dtype dtype = Dtype::kFloat32;
  Layout layout = Layout::kNchw;
  bool operator==(const RowFormat&) const = default;
};

/// Bytes of a row that holds one picture.
constexpr std::size_t row_size(RowFormat format, std::int32_t channels, std::int32_t height,
                               std::int32_t width) noexcept {
  return static_cast<std::size_t>(channels) * static_cast<std::size_t>(height) * static_cast<std::size_t>(width) *
         size_of(format.dtype);
}

/// One channel's numbers in 16 bits.
struct HalfTable {
  std::uint16_t value[256]{};
  std::uint8_t bytes[2][256]{};  // byte k of each
};

/// One channel's numbers, in the forms that the kernels read.
struct ChannelTable {
  float value[256]{};
  std::uint8_t bytes[4][256]{};  // byte k of each value
  HalfTable bfloat16, float16;

  /// x -> ((x * scale - mean) * inverse), each factor a sum of two floats so that the products round as
  /// the divisions would. Used only where `exact`: all 256 values were compared.
  struct ChannelArithmetic {
    float scale_high = 1, scale_low = 0, mean = 0, inverse_high = 1, inverse_low = 0;
    bool exact = false;
  } arithmetic{};
};

/// A fixed mapping of bytes to numbers, per channel. Immutable; used from any thread.
class Normalizer {
 public:
  static constexpr std::int32_t kMaxChannels = 4;

  /// (x / 255 - mean[c]) / std[c], x scaled as `scaling` says. kInvalidArgument unless both have the same 1 … 4 finite
  /// values and no std is zero.
  static Result<Normalizer> standard(std::span<const float> mean, std::span<const float> std,
                                     Scaling scaling = Scaling::kDivide);
  /// The numbers themselves: 256 per channel, or once for all channels. kInvalidArgument for another count, or for
  /// numbers that are not finite.
  static Result<Normalizer> from_table(std::span<const float> values);
  /// Scales the bytes, and no more, for any number of channels up to 4.
  static Normalizer unit(Scaling scaling = Scaling::kDivide);
  /// Leaves the bytes as they are, for any number of channels up to 4: the only Normalizer that makes integers.
  static Normalizer raw();

  /// Whether pictures of that many channels can be written so; kInvalidArgument, saying why, otherwise.
  /// store() requires it.
  Status check(std::int32_t channels, RowFormat format) const;

  /// Writes the picture to `out`, row_size() bytes, in any alignment (64 is fastest). With `mirror` each
  /// row is written from right to left. Memory may be written past the caches; another thread that
  /// is told of it in the usual ways sees it.
  void store(void* out, ConstImageView in, RowFormat format, bool mirror = false,
             Level level = active_level()) const noexcept;

  /// The 256 numbers of a channel.
  std::span<const float, 256> table(std::int32_t channel) const noexcept {
    return tables_[static_cast<std::size_t>(channel)].value;
  }

 private:
  Normalizer(std::int32_t channels, bool raw) noexcept : channels_(channels), raw_(raw) {}

  std::array<ChannelTable, kMaxChannels> tables_{};
  std::int32_t channels_;  // that were described, or 0: any
  bool raw_;
};

/// out = (in - mean[c]) / std[c] for floats, each step rounded to float32 as torch does it. `in` and `out` have so many
/// pixels for each channel, in the same layout, and may be the same; mean and std have the same 1 … kMaxChannels
/// values.
void normalize_floats(float* out, const float* in, std::size_t pixels, Layout layout, std::span<const float> mean,
                      std::span<const float> std) noexcept;

}  // namespace drapps::kernel
