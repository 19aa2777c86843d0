// What the ops' check(), infer() and run() have in common: parameters in range, errors that name op and parameter.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "drapps/augment/picture/op.h"

namespace drapps {

/// Longest side that an op makes, and widest border.
inline constexpr std::int32_t kMaxSide = 1 << 20;

/// kInvalidArgument with the message "<tag>: <message>".
Error op_error(std::string_view tag, const std::string& message, Stage stage = Stage::kSetup);

/// "480 x 640", height first.
std::string to_string(Extent extent);

/// Refuses to touch pixels after an erasure.
Status check_not_erased(std::string_view tag, const PictureSpec& in);
/// 0 <= p <= 1.
Status check_probability(std::string_view tag, double p);
/// 1 <= height, width <= kMaxSide.
Status check_sides(std::string_view tag, std::int32_t height, std::int32_t width);
/// least <= low <= high, high <= most and finite.
Status check_range(std::string_view tag, std::string_view name, const std::array<double, 2>& range, double least,
                   double most = 1e6);
/// PyTorch's arithmetic has its own pass order, and no nearest neighbour that is also Pillow's.
Status check_arithmetic(std::string_view tag, Interpolation interpolation, kernel::PassOrder order,
                        kernel::Arithmetic arithmetic);
/// Every width from 0 to kMaxSide; one to four levels from 0 to 255.
Status check_border(std::string_view tag, std::span<const std::int32_t> widths, std::span<const std::int32_t> fill,
                    std::int32_t mask_fill);
/// A list called `name` of one value for all channels or one for each.
Status check_per_channel(std::string_view tag, std::string_view name, std::size_t values, std::int32_t channels);

}  // namespace drapps
