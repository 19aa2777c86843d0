// Moving pixels without changing them: interleaved and planar, mirrored, turned, padded.
//
// Pictures `out` and `in` do not overlap and have as many channels; `out` has the size that the result
// has. Nothing is written outside the output's pixels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "drapps/data/image.h"
#include "drapps/kernel/level.h"

namespace drapps::kernel {

/// Splits `n` pixels of three (four) interleaved bytes into planes. `in` is read exactly.
void deinterleave3(std::uint8_t* out0, std::uint8_t* out1, std::uint8_t* out2, const std::uint8_t* in, std::size_t n,
                   Level level = active_level()) noexcept;
void deinterleave4(std::uint8_t* out0, std::uint8_t* out1, std::uint8_t* out2, std::uint8_t* out3,
                   const std::uint8_t* in, std::size_t n, Level level = active_level()) noexcept;

/// Joins `n` pixels of three (four) planes. The planes are read exactly.
void interleave3(std::uint8_t* out, const std::uint8_t* in0, const std::uint8_t* in1, const std::uint8_t* in2,
                 std::size_t n, Level level = active_level()) noexcept;
void interleave4(std::uint8_t* out, const std::uint8_t* in0, const std::uint8_t* in1, const std::uint8_t* in2,
                 const std::uint8_t* in3, std::size_t n, Level level = active_level()) noexcept;

/// out[i] = in[n - 1 - i].
void reverse(std::uint8_t* out, const std::uint8_t* in, std::size_t n, Level level = active_level()) noexcept;

/// out[i] = table[in[i]]; out == in is allowed.
void lookup(std::uint8_t* out, const std::uint8_t* in, std::size_t n, std::span<const std::uint8_t, 256> table,
            Level level = active_level()) noexcept;

void copy(ImageView out, ConstImageView in) noexcept;
void flip_horizontal(ImageView out, ConstImageView in, Level level = active_level()) noexcept;
void flip_vertical(ImageView out, ConstImageView in) noexcept;
/// Rows become columns: out is in.width high and in.height wide.
void transpose(ImageView out, ConstImageView in) noexcept;

/// Sets every pixel of channel c to value[c].
void fill(ImageView out, std::span<const std::uint8_t> value) noexcept;

/// What stands outside a picture; the names are torchvision's.
enum class PadMode : std::uint8_t {
  kConstant,
  kEdge,       // the outermost pixel, repeated
  kReflect,    // mirrored at the outermost pixel, which is not repeated
  kSymmetric,  // mirrored at the edge, the outermost pixel repeated
};

/// Copies `in` to (top, left) of `out` and fills the rest; `out` is at least that large. `value` has one byte per
/// channel and is read for kConstant only. A border wider than the picture is mirrored to and fro, as numpy.pad does.
void pad(ImageView out, ConstImageView in, std::int32_t top, std::int32_t left, PadMode mode,
         std::span<const std::uint8_t> value) noexcept;

}  // namespace drapps::kernel
