// A GPU by CUDA's driver: the device of device.h.
//
// It uses the primary context of the GPU, which torch and others share, and makes it if nobody has yet. Whatever thread
// calls, the context is current for the time of the call alone, and the thread may then do what would invalidate
// another thread's capture of a graph, without doing so: none of its streams is captured.
#pragma once

#include <sys/types.h>

#include <array>
#include <memory>
#include <string>

#include "drapps/device/cuda/driver.h"
#include "drapps/device/cuda/images.h"
#include "drapps/device/device.h"

namespace drapps::device {

class CudaDevice final : public Device {
 public:
  /// @param ordinal  as CUDA counts those that this process sees, and torch with it.
  /// kInvalidArgument for one that is not there; kUnsupported where no image runs on it; kDeviceLost,
  /// kResourceExhausted as in device.h.
  static Result<std::unique_ptr<CudaDevice>> make(std::shared_ptr<const CudaDriver> driver, int ordinal,
                                                  std::span<const KernelImage> images = kernel_images());
  ~CudaDevice() override;

  std::string name() const override { return name_; }
  Result<Memory> allocate(Where where, std::size_t bytes) override;
  Result<std::unique_ptr<Stream>> stream() override;
  Result<std::unique_ptr<Stream>> foreign_stream(std::uintptr_t handle) override;
  Result<std::unique_ptr<Event>> event() override;
  Result<std::unique_ptr<Event>> timed_event() override;

  /// While it lives, the calling thread has the device's context.
  class Entered {
   public:
    explicit Entered(const CudaDevice& device);
    ~Entered();
    Entered(const Entered&) = delete;
    Entered& operator=(const Entered&) = delete;
    /// What entering gave: kDeviceLost in another process than the device's, too.
    const Status& status() const noexcept { return status_; }
    const CudaFunctions& call() const noexcept;
    Status check(int result, const char* what) const { return device_.driver_->check(result, what); }

   private:
    const CudaDevice& device_;
    Status status_;
    int capture_mode_;
  };

  CudaHandle function(KernelId kernel) const noexcept { return functions_[static_cast<std::size_t>(kernel)]; }

 private:
  CudaDevice(std::shared_ptr<const CudaDriver> driver, int ordinal) noexcept;
  Status load(const KernelImage& image);
  void free(Where where, std::byte* data, std::size_t bytes) noexcept override;

  const std::shared_ptr<const CudaDriver> driver_;
  const int ordinal_;
  const pid_t maker_;
  std::string name_;
  CudaHandle context_ = nullptr;
  CudaHandle module_ = nullptr;
  std::array<CudaHandle, kKernels> functions_{};
};

}  // namespace drapps::device
