// What a metered stream counts, on the host device, whose copies and launches take at least as long as they are told
// to.
#include "drapps/device/metered_stream.h"

#include <gtest/gtest.h>

#include <thread>

#include "drapps/device/host/host_device.h"
#include "drapps/device/kernel/gather.h"

namespace drapps::device {
namespace {

using namespace std::chrono_literals;

class MeteredStreamTest : public ::testing::Test {
 protected:
  MeteredStreamTest()
      : pinned_(device_.allocate(Where::kPinned, kBytes).value()),
        there_(device_.allocate(Where::kDevice, kBytes).value()) {}

  /// `copies` of all bytes to the device and one back, with a launch that does nothing in between.
  void work(MeteredStream& stream, int copies) {
    for (int i = 0; i < copies; ++i) ASSERT_TRUE(stream.copy_in(there_.data(), pinned_.data(), kBytes).ok());
    const GatherArguments nothing{};
    ASSERT_TRUE(stream.launch(KernelId::kGather, 0, &nothing).ok());
    ASSERT_TRUE(stream.copy_out(pinned_.data(), there_.data(), kBytes).ok());
  }

  static constexpr std::size_t kBytes = 300;
  HostDevice device_{{.copy_latency = 2ms, .launch_latency = 5ms}};
  Memory pinned_, there_;
  DeviceCounters counters_;
};

TEST_F(MeteredStreamTest, TimesCopiesAndLaunchesApart) {
  {
    const auto stream = MeteredStream::make(device_, counters_).value();
    work(*stream, 3);
    const auto event = device_.event().value();
    ASSERT_TRUE(stream->pause().ok());
    ASSERT_TRUE(stream->record(*event).ok());
    ASSERT_TRUE(event->wait().ok());
    std::this_thread::sleep_for(50ms);  // is nobody's
    work(*stream, 1);
  }
  const DeviceCounts counts = counters_.read();
  EXPECT_EQ(counts.launches, 2u);
  EXPECT_EQ(counts.bytes_in, 4 * kBytes);
  EXPECT_EQ(counts.bytes_out, 2 * kBytes);
  EXPECT_GE(counts.copy_ns, 6 * 2'000'000u);
  EXPECT_GE(counts.kernel_ns, 2 * 5'000'000u);
}

TEST_F(MeteredStreamTest, NobodyWaitsForTimes) {
  const auto stream = MeteredStream::make(device_, counters_).value();
  work(*stream, 1);
  ASSERT_TRUE(stream->pause().ok());
  EXPECT_EQ(counters_.read().launches, 1u);
  device_.lose();
  EXPECT_EQ(stream->copy_in(there_.data(), pinned_.data(), 1).error().code, ErrorCode::kDeviceLost);
  EXPECT_TRUE(stream->pause().ok());  // there is nothing to end
}

}  // namespace
}  // namespace drapps::device
