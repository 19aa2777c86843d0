// The kernels that a device has, by number: what a launch of each takes, and how the host runs a block of it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace drapps::device {

enum class KernelId : std::uint8_t {
  kAugment,
  kKeep,
  kContrastSum,
  kContrastMean,
  kMix,
  kGather,
  kJpegHuffman,
  kJpegExpand,
  kJpegTransform,
  kJpegPixels
};
inline constexpr std::size_t kKernels = 10;

struct Kernel {
  const char* name;  // in kernel/gpu.cu
  std::size_t argument_bytes;
  std::int32_t threads;  // of a block
  std::size_t shared_bytes;
  /// All phases of a block, on the calling thread.
  /// @param shared  shared_bytes, aligned to 16.
  void (*run_block)(const std::byte* arguments, std::byte* shared, std::int32_t block, std::int32_t turn);
};

const Kernel& kernel(KernelId id) noexcept;

}  // namespace drapps::device
