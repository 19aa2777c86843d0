// A stream that knows how long its copies and launches took on the device, and how many bytes it copied.
//
//   auto stream = MeteredStream::make(device, counters);
//   (*stream)->launch(kernel, blocks, &arguments);  // as with any stream
//   (*stream)->pause();                             // what has ended is in counters.read()
//
// Between work of one kind and work of the other it records an event that keeps the time. Times are those of the
// device: what its stream spent on each run of copies, or of launches, waits for other streams apart. They are read
// when the events have passed, and counted by whoever asks for more work; nobody waits for them.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string_view>
#include <tuple>
#include <vector>

#include "drapps/base/number.h"
#include "drapps/device/device.h"

namespace drapps::device {

/// What streams of a device have done, by events between their copies and their launches.
template <class Count>
struct DeviceNumbers {
  Count launches{0};
  Count bytes_in{0};
  Count bytes_out{0};
  Count copy_ns{0};
  Count kernel_ns{0};

  static constexpr auto numbers() {
    using Self = DeviceNumbers;
    constexpr std::string_view kEvents = "events of the device's streams";
    constexpr auto kCounter = NumberKind::kCounter;
    return std::tuple(
        ListedNumber{&Self::launches,
                     {"launches", "launches", kEvents, kCounter, "on a GPU that makes batches, or samples of them"}},
        ListedNumber{&Self::bytes_in, {"bytes_in", "bytes", kEvents, kCounter, "copied there"}},
        ListedNumber{&Self::bytes_out, {"bytes_out", "bytes", kEvents, kCounter, "copied back"}},
        ListedNumber{&Self::copy_ns, {"copy", "ns", kEvents, kCounter, "of the GPU's time, for copies"}},
        ListedNumber{&Self::kernel_ns, {"kernel", "ns", kEvents, kCounter, "of the GPU's time, for launches"}});
  }

  DeviceNumbers& operator+=(const DeviceNumbers& more) noexcept {
    visit_numbers([](const NumberInfo&, Count& sum, const Count& count) { sum += count; }, *this, more);
    return *this;
  }
};

using DeviceCounts = DeviceNumbers<std::uint64_t>;

/// DeviceNumbers that any thread counts while others read them.
struct DeviceCounters : DeviceNumbers<std::atomic<std::uint64_t>> {
  DeviceCounts read() const noexcept {
    DeviceCounts now;
    visit_numbers([](const NumberInfo&, std::uint64_t& count,
                     const std::atomic<std::uint64_t>& counted) { count = counted.load(std::memory_order_relaxed); },
                  now, *this);
    return now;
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

  /// Ends the run that is under way: the time until more is asked for counts for no run. Counts what has ended.
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
