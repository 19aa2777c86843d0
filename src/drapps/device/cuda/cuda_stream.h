// Streams and events of a GPU.
#pragma once

#include <memory>

#include "drapps/device/cuda/cuda_device.h"

namespace drapps::device {

class CudaEvent final : public Event {
 public:
  static Result<std::unique_ptr<Event>> make(const CudaDevice& device, bool timed);
  ~CudaEvent() override;
  Result<bool> done() override;
  Status wait() override;
  Result<std::uint64_t> since(Event& earlier) override;
  CudaHandle handle() const noexcept { return event_; }

 private:
  CudaEvent(const CudaDevice& device, CudaHandle event) noexcept : device_(device), event_(event) {}
  const CudaDevice& device_;
  const CudaHandle event_;
};

class CudaStream final : public Stream {
 public:
  /// A stream that does not wait for the legacy default stream, nor that for it; of the least priority that there is,
  /// so that blocks of kernels in a training's stream of a higher one begin first. Streams of torch have the least,
  /// too, unless they are made with another.
  static Result<std::unique_ptr<Stream>> make(const CudaDevice& device);
  /// A stream of somebody else's, which the returned object does not end.
  static Result<std::unique_ptr<Stream>> of(const CudaDevice& device, CudaHandle stream);
  ~CudaStream() override;
  Status copy_in(std::byte* device, const std::byte* host, std::size_t bytes) override;
  Status copy_out(std::byte* host, const std::byte* device, std::size_t bytes) override;
  Status launch(KernelId kernel, std::int64_t blocks, const void* arguments) override;
  Status record(Event& event) override;
  Status wait(Event& event) override;

 private:
  CudaStream(const CudaDevice& device, CudaHandle stream, bool own) noexcept
      : device_(device), stream_(stream), own_(own) {}
  const CudaDevice& device_;
  const CudaHandle stream_;
  const bool own_;
};

}  // namespace drapps::device
