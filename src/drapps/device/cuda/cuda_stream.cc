#include "drapps/device/cuda/cuda_stream.h"

#include "drapps/base/caught.h"

namespace drapps::device {
namespace {

constexpr unsigned kNonBlocking = 1;    // CU_STREAM_NON_BLOCKING
constexpr unsigned kBlockingSync = 1;   // CU_EVENT_BLOCKING_SYNC: who waits on the host sleeps
constexpr unsigned kDisableTiming = 2;  // CU_EVENT_DISABLE_TIMING

CudaHandle handle_of(Event& event) noexcept { return static_cast<CudaEvent&>(event).handle(); }

CudaAddress address_of(const std::byte* data) noexcept { return reinterpret_cast<CudaAddress>(data); }

/// What `call` gives for the driver's functions, in the device's context.
template <class Call>
Status in_context(const CudaDevice& device, const char* what, Call call) {
  const CudaDevice::Entered entered(device);
  DRAPPS_RETURN_IF_ERROR(entered.status());
  return entered.check(call(entered.call()), what);
}

}  // namespace

Result<std::unique_ptr<Event>> CudaEvent::make(const CudaDevice& device, bool timed) {
  CudaHandle event = nullptr;
  DRAPPS_RETURN_IF_ERROR(in_context(device, "making an event", [&](const CudaFunctions& call) {
    return call.event_create(&event, kBlockingSync | (timed ? 0 : kDisableTiming));
  }));
  return catching(
      [&]() -> Result<std::unique_ptr<Event>> { return std::unique_ptr<Event>(new CudaEvent(device, event)); });
}

CudaEvent::~CudaEvent() {
  const CudaDevice::Entered entered(device_);
  if (entered.status().ok()) entered.call().event_destroy(event_);
}

Result<bool> CudaEvent::done() {
  const CudaDevice::Entered entered(device_);
  DRAPPS_RETURN_IF_ERROR(entered.status());
  const int result = entered.call().event_query(event_);
  if (result == kCudaNotReady) return false;
  DRAPPS_RETURN_IF_ERROR(entered.check(result, "work"));
  return true;
}

Status CudaEvent::wait() {
  return in_context(device_, "work", [&](const CudaFunctions& call) { return call.event_synchronize(event_); });
}

Result<std::uint64_t> CudaEvent::since(Event& earlier) {
  float milliseconds = 0;
  DRAPPS_RETURN_IF_ERROR(in_context(device_, "work", [&](const CudaFunctions& call) {
    return call.event_elapsed(&milliseconds, handle_of(earlier), event_);
  }));
  return static_cast<std::uint64_t>(static_cast<double>(milliseconds) * 1e6);
}

Result<std::unique_ptr<Stream>> CudaStream::make(const CudaDevice& device) {
  CudaHandle stream = nullptr;
  DRAPPS_RETURN_IF_ERROR(in_context(device, "making a stream", [&](const CudaFunctions& call) {
    int least = 0, greatest = 0;
    const int code = call.stream_priorities(&least, &greatest);
    return code == kCudaSuccess ? call.stream_create(&stream, kNonBlocking, least) : code;
  }));
  return catching([&]() -> Result<std::unique_ptr<Stream>> {
    return std::unique_ptr<Stream>(new CudaStream(device, stream, true));
  });
}

Result<std::unique_ptr<Stream>> CudaStream::of(const CudaDevice& device, CudaHandle stream) {
  return catching([&]() -> Result<std::unique_ptr<Stream>> {
    return std::unique_ptr<Stream>(new CudaStream(device, stream, false));
  });
}

CudaStream::~CudaStream() {
  if (!own_) return;
  const CudaDevice::Entered entered(device_);
  if (!entered.status().ok()) return;
  entered.call().stream_synchronize(stream_);
  entered.call().stream_destroy(stream_);
}

Status CudaStream::copy_in(std::byte* device, const std::byte* host, std::size_t bytes) {
  return in_context(device_, "a copy",
                    [&](const CudaFunctions& call) { return call.copy_in(address_of(device), host, bytes, stream_); });
}

Status CudaStream::copy_out(std::byte* host, const std::byte* device, std::size_t bytes) {
  return in_context(device_, "a copy",
                    [&](const CudaFunctions& call) { return call.copy_out(host, address_of(device), bytes, stream_); });
}

Status CudaStream::launch(KernelId id, std::int64_t blocks, const void* arguments) {
  if (blocks == 0) return ok_status();
  void* parameters[] = {const_cast<void*>(arguments)};  // which the driver copies
  const auto threads = static_cast<unsigned>(kernel(id).threads);
  return in_context(device_, "a launch", [&](const CudaFunctions& call) {
    return call.launch(device_.function(id), static_cast<unsigned>(blocks), 1, 1, threads, 1, 1, 0, stream_, parameters,
                       nullptr);
  });
}

Status CudaStream::record(Event& event) {
  return in_context(device_, "an event",
                    [&](const CudaFunctions& call) { return call.event_record(handle_of(event), stream_); });
}

Status CudaStream::wait(Event& event) {
  return in_context(device_, "an event",
                    [&](const CudaFunctions& call) { return call.stream_wait(stream_, handle_of(event), 0); });
}

}  // namespace drapps::device
