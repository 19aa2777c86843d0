// A device without a GPU: its memory is the host's, each of its streams a thread of its own. Everything that runs on a
// device runs on it in tests: copies and launches end late, in the order of their stream, and independently of other
// streams.
//
// It is stricter than a GPU: a copy whose ends do not lie whole in the memory that they should is an error, as is a
// launch that its memory was freed under; a page that may not be touched stands behind all memory of the device.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "drapps/device/device.h"

namespace drapps::device {

struct HostDeviceOptions {
  std::size_t memory_bytes = std::size_t{1} << 30;  // of the device; pinned memory does not count
  std::chrono::nanoseconds copy_latency{0};         // of each copy, before its first byte is read
  std::chrono::nanoseconds launch_latency{0};       // of each launch, before its first block
  std::uint64_t launches = ~std::uint64_t{0};       // the device is lost with the launch behind these
  bool host_reads = true;                           // false: batches there count as those on a GPU
};

class HostDevice final : public Device {
 public:
  explicit HostDevice(const HostDeviceOptions& options = {}) : options_(options) {}
  ~HostDevice() override;

  std::string name() const override { return "host"; }
  bool host_reads() const noexcept override { return options_.host_reads; }
  Result<Memory> allocate(Where where, std::size_t bytes) override;
  Result<std::unique_ptr<Stream>> stream() override;
  /// @param handle  the address of one of its streams.
  Result<std::unique_ptr<Stream>> foreign_stream(std::uintptr_t handle) override;
  Result<std::unique_ptr<Event>> event() override;
  Result<std::unique_ptr<Event>> timed_event() override { return event(); }

  const HostDeviceOptions& options() const noexcept { return options_; }
  /// Whether the bytes lie whole in one piece of its memory.
  bool owns(Where where, const std::byte* data, std::size_t bytes) const;
  /// Bytes of the device's memory that are in use.
  std::size_t used() const;

  /// From now on every call fails, as on a GPU that has left the bus; work under way ends without having been done.
  void lose() noexcept { lost_ = true; }
  /// One more launch is asked for.
  void count_launch() noexcept {
    if (++launched_ > options_.launches) lose();
  }
  /// The error of a device that was lost.
  Status alive() const;

 private:
  struct HostPiece {
    std::size_t bytes;   // asked for
    std::size_t mapped;  // with the page behind it
    std::byte* mapping;
    Where where;
  };

  void free(Where where, std::byte* data, std::size_t bytes) noexcept override;

  const HostDeviceOptions options_;
  std::atomic<bool> lost_ = false;
  std::atomic<std::uint64_t> launched_ = 0;
  mutable std::mutex mutex_;  // guards all below
  std::map<const std::byte*, HostPiece> pieces_;
  std::size_t used_ = 0;
};

}  // namespace drapps::device
