#include "drapps/kernel/jpeg/expand.h"

#include "drapps/kernel/jpeg/expand_kernels.h"

namespace drapps::kernel::jpeg {
namespace {

const ExpandKernels& expand_kernels(Level level) noexcept {
  switch (level) {
    case Level::kAvx512Vbmi: return kExpandAvx512Vbmi;
    case Level::kAvx512: return kExpandAvx512;
    case Level::kAvx2: return kExpandAvx2;
    case Level::kPortable: break;
  }
  return kExpandPortable;
}

}  // namespace

std::size_t value_bytes(const std::uint8_t* masks, std::size_t count, Level level) noexcept {
  return expand_kernels(level).value_bytes(masks, count);
}

const std::uint8_t* expand(std::int16_t* blocks, const std::uint8_t* masks, const std::uint8_t* dc,
                           const std::uint8_t* values, std::size_t count, Level level) noexcept {
  return expand_kernels(level).expand(blocks, masks, dc, values, count);
}

std::uint8_t* pack(std::uint8_t* masks, std::uint8_t* dc, std::uint8_t* values, const std::int16_t* blocks,
                   std::size_t count, Level level) noexcept {
  return expand_kernels(level).pack(masks, dc, values, blocks, count);
}

std::uint64_t lane_sum(const std::uint8_t* data, std::size_t lanes, Level level) noexcept {
  return expand_kernels(level).lane_sum(data, lanes);
}

}  // namespace drapps::kernel::jpeg
