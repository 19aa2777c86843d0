// A stream that knows how long its copies and launches took on the device, and how many bytes it copied.
//
// Between work of one kind and work of the other it records an event that keeps the time. Times are those of the
// device: what its stream spent on each run of copies, or of launches, waits for other streams apart. They are read
// when the events have passed, and counted by whoever asks for more work; nobody waits for them.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "drapps/device/device.h"

namespace drapps::device {

/// What streams of a device have done.
struct DeviceCounts {
  std::uint64_t launches = 0;
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
  std::uint64_t copy_ns = 0;
  std::uint64_t kernel_ns = 0;

  DeviceCounts& operator+=(const DeviceCounts& more) noexcept {
    launches += more.launches;
    bytes_in += more.bytes_in;
    bytes_out += more.bytes_out;
    copy_ns += more.copy_ns;
    kernel_ns += more.kernel_ns;
    return *this;
  }
};

/// The same, counted by any thread while others read it.
struct DeviceCounters {
  std::atomic<std::uint64_t> launches{0}, bytes_in{0}, bytes_out{0}, copy_ns{0}, kernel_ns{0};

  DeviceCounts read() const noexcept {
    return {.launches = launches.load(std::memory_order_relaxed),
            .bytes_in = bytes_in.load(std::memory_order_relaxed),
            .bytes_out = bytes_out.load(std::memory_order_relaxed),
            .copy_ns = copy_ns.load(std::memory_order_relaxed),
            .kernel_ns = kernel_ns.load(std::memory_order_relaxed)};
  }
};

class MeteredStream final : public Stream {
 public:
  /// @param counters  outlive it.
  static Result<std::unique_ptr<MeteredStream>> make(Device& device, DeviceCounters& counters);
  ~MeteredStream() override;

  Status copy_in(std::byte* device, const std::byte* host, std::size_t bytes) override;
  Status copy_out(std::byte* host, const std::byte* device, std::size_t bytes) override;
  Status launch(KernelId kernel, std::int64_t blocks, const void* arguments) override;
  Status record(Event& event) override { return stream_->record(event); }
  Status wait(Event& event) override;

  /// What comes next is asked for later: time until then is nobody's. Counts what has ended.
  Status pause();

 private:
  enum class StreamWork : std::uint8_t { kNone, kCopies, kLaunches };
  using Mark = std::shared_ptr<Event>;
  /// Work between two marks.
  struct StreamRun {
    StreamWork kind;
    Mark begin, end;
  };

  MeteredStream(Device& device, DeviceCounters& counters, std::unique_ptr<Stream> stream) noexcept
      : device_(device), counters_(counters), stream_(std::move(stream)) {}
  Status begin(StreamWork kind);
  Result<Mark> mark();
  void count() noexcept;

  Device& device_;
  DeviceCounters& counters_;
  std::unique_ptr<Stream> stream_;
  StreamWork kind_ = StreamWork::kNone;
  Mark begun_;                  // where the current run began
  std::deque<StreamRun> runs_;  // whose ends have perhaps not passed
  std::vector<Mark> free_;
};

}  // namespace drapps::device
