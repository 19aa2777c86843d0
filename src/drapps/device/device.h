// A device beside the CPU, as far as batches need one: memory, streams of copies and launches, events. It names no type
// of CUDA: what a machine has stands behind it (cuda/), or what tests run everything on (host/).
//
//   auto memory = device->allocate(Where::kDevice, bytes);
//   auto stream = device->stream();
//   (*stream)->copy_in(memory->data(), pinned->data(), bytes);
//   (*stream)->record(*event); event->wait();
//
// All members may be called from any thread; a stream's by one at a time. Errors are of stage kDeliver: kDeviceLost
// where the device answers no more, or an earlier launch has failed, which every later call says again;
// kResourceExhausted where its memory has no more. A device, its streams and its memory belong to the process that made
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "drapps/base/result.h"
#include "drapps/device/kernels.h"

namespace drapps::device {

class Device;

/// Where memory lies.
enum class Where : std::uint8_t {
  kDevice,  // nothing on the host may read or write it, but copies of a stream
  kPinned,  // of the host; copies from and to it do not hold up who asks for them
};

/// Memory of a device, freed when this goes. No work that uses it may be under way then.
class Memory {
 public:
  Memory() noexcept = default;
  Memory(Device& device, Where where, std::byte* data, std::size_t bytes) noexcept
      : device_(&device), where_(where), data_(data), bytes_(bytes) {}
  Memory(Memory&& other) noexcept { *this = std::move(other); }
  Memory& operator=(Memory&& other) noexcept {
    reset();
    device_ = other.device_;
    where_ = other.where_;
    data_ = std::exchange(other.data_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
    return *this;
  }
  ~Memory() { reset(); }

  std::byte* data() const noexcept { return data_; }
  std::size_t bytes() const noexcept { return bytes_; }
  inline void reset() noexcept;

 private:
  Device* device_ = nullptr;
  Where where_ = Where::kDevice;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// A place in the work of a stream.
class Event {
 public:
  virtual ~Event() = default;
  /// Whether all that stood before it when it was recorded last has ended; true where it never was.
  virtual Result<bool> done() = 0;
  /// Waits on the host until all that stood before it when it was recorded last has ended.
  virtual Status wait() = 0;
  /// ns of the device from an earlier place to this one. Both keep the time, and are done.
  virtual Result<std::uint64_t> since(Event& earlier) = 0;
};

/// Work in the order in which it was asked for. Calls return at once; what they name stays until it has ended.
class Stream {
 public:
  /// Waits for what is under way, where the stream is this process's own.
  virtual ~Stream() = default;
  /// Host memory is pinned, else the call may wait.
  virtual Status copy_in(std::byte* device, const std::byte* host, std::size_t bytes) = 0;
  virtual Status copy_out(std::byte* host, const std::byte* device, std::size_t bytes) = 0;
  /// @param arguments  of the kernel's body, copied.
  virtual Status launch(KernelId kernel, std::int64_t blocks, const void* arguments) = 0;
  virtual Status record(Event& event) = 0;
  /// What is asked for from now on begins when what the event was recorded behind, by any stream, has ended.
  virtual Status wait(Event& event) = 0;
};

class Device {
 public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;

  virtual std::string name() const = 0;
  /// Whether the host reads batches in its memory, once they are made; never on a GPU.
  virtual bool host_reads() const noexcept { return false; }
  /// Aligned to 256 bytes.
  virtual Result<Memory> allocate(Where where, std::size_t bytes) = 0;
  virtual Result<std::unique_ptr<Stream>> stream() = 0;
  /// A stream of somebody else's, by the handle that DLPack hands over; it outlives what is given, whose end waits for
  /// nothing.
  virtual Result<std::unique_ptr<Stream>> foreign_stream(std::uintptr_t handle) = 0;
  virtual Result<std::unique_ptr<Event>> event() = 0;
  /// One that keeps the time at which its place was passed, which costs a little.
  virtual Result<std::unique_ptr<Event>> timed_event() = 0;

 protected:
  friend class Memory;
  virtual void free(Where where, std::byte* data, std::size_t bytes) noexcept = 0;
};

inline void Memory::reset() noexcept {
  if (data_ != nullptr) device_->free(where_, data_, bytes_);
  data_ = nullptr;
  bytes_ = 0;
}

}  // namespace drapps::device
