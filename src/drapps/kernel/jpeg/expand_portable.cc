// The reference of the other levels.
#include "drapps/kernel/jpeg/expand_kernels.h"

namespace drapps::kernel::jpeg {
namespace {

const std::uint8_t* expand_portable(std::int16_t* blocks, const std::uint8_t* masks, const std::uint8_t* dc,
                                    const std::uint8_t* values, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t mask = mask_at(masks, i);
    scatter(blocks + kBlock * i, mask, dc + kDcBytes * i, values);
    values += value_bytes(mask);
  }
  return values;
}

std::uint64_t lane_sum_portable(const std::uint8_t* data, std::size_t lanes) {
  std::uint64_t sum = 0;
  for (std::size_t j = 0; j < 8; ++j) {
    std::uint64_t lower = 0, upper = 0, lower_twice = 0, upper_twice = 0;
    for (std::size_t i = 0; i < lanes; ++i) {
      const std::uint64_t words = mask_at(data + kLane * i, j);
      lower += words & 0xFFFFFFFFu;
      upper += words >> 32;
      lower_twice += lower;
      upper_twice += upper;
    }
    sum += lower * kLaneFactors.lower[j] + upper * kLaneFactors.upper[j] + lower_twice * kLaneFactors.lower_twice[j] +
           upper_twice * kLaneFactors.upper_twice[j];
  }
  return sum;
}

}  // namespace

const ExpandKernels kExpandPortable{count_value_bytes, expand_portable, pack_blocks, lane_sum_portable};

}  // namespace drapps::kernel::jpeg
