// Streams and events of the host device.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include "drapps/device/host/host_device.h"
#include "drapps/exec/service_thread.h"

namespace drapps::device {

class HostEvent final : public Event {
 public:
  explicit HostEvent(const HostDevice& device) : device_(device), place_(std::make_shared<EventState>()) {}
  Result<bool> done() override;
  Status wait() override;
  Result<std::uint64_t> since(Event& earlier) override;

 private:
  friend class HostStream;
  /// What streams keep of an event that may go before they reach it.
  struct EventState {
    std::mutex mutex;  // guards all below
    std::condition_variable reached_more;
    std::uint64_t recorded = 0;  // times
    std::uint64_t reached = 0;   // number of the latest recording that a stream has come to
    std::uint64_t at_ns = 0;     // when a stream came to that

    void reach(std::uint64_t time);
    void await(std::uint64_t time);
  };

  const HostDevice& device_;
  const std::shared_ptr<EventState> place_;
};

class HostStream final : public Stream {
 public:
  static Result<std::unique_ptr<HostStream>> make(HostDevice& device);
  ~HostStream() override;

  Status copy_in(std::byte* device, const std::byte* host, std::size_t bytes) override;
  Status copy_out(std::byte* host, const std::byte* device, std::size_t bytes) override;
  Status launch(KernelId kernel, std::int64_t blocks, const void* arguments) override;
  Status record(Event& event) override;
  Status wait(Event& event) override;

 private:
  explicit HostStream(HostDevice& device) : device_(device) {}
  Status copy(std::byte* to, const std::byte* from, std::size_t bytes);
  Status add(std::function<void()> work);
  void run();

  HostDevice& device_;
  std::mutex mutex_;  // guards queue_ and ending_
  std::condition_variable more_;
  std::deque<std::function<void()>> queue_;
  bool ending_ = false;
  ServiceThread thread_;  // last: it uses all above
};

/// A stream of somebody else's.
class ForeignHostStream final : public Stream {
 public:
  explicit ForeignHostStream(Stream& stream) noexcept : stream_(stream) {}
  Status copy_in(std::byte* device, const std::byte* host, std::size_t bytes) override {
    return stream_.copy_in(device, host, bytes);
  }
  Status copy_out(std::byte* host, const std::byte* device, std::size_t bytes) override {
    return stream_.copy_out(host, device, bytes);
  }
  Status launch(KernelId kernel, std::int64_t blocks, const void* arguments) override {
    return stream_.launch(kernel, blocks, arguments);
  }
  Status record(Event& event) override { return stream_.record(event); }
  Status wait(Event& event) override { return stream_.wait(event); }

 private:
  Stream& stream_;
};

}  // namespace drapps::device
