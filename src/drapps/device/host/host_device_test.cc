#include "drapps/device/host/host_device.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "drapps/device/kernel/gather.h"

namespace drapps::device {
namespace {

using namespace std::chrono_literals;

/// Bytes of a stream's own, in either memory.
struct Pair {
  Memory pinned, device;

  Pair(Device& on, std::size_t bytes)
      : pinned(on.allocate(Where::kPinned, bytes).value()), device(on.allocate(Where::kDevice, bytes).value()) {}
};

TEST(HostDevice, CopiesThereAndBackInTheOrderOfTheStream) {
  HostDevice device({.copy_latency = 1ms});
  Pair pair(device, 1000);
  const auto stream = device.stream().value();
  const auto event = device.event().value();
  std::memset(pair.pinned.data(), 7, 1000);
  ASSERT_TRUE(stream->copy_in(pair.device.data(), pair.pinned.data(), 1000).ok());
  ASSERT_TRUE(stream->record(*event).ok());
  ASSERT_TRUE(event->wait().ok());
  std::memset(pair.pinned.data(), 0, 1000);
  ASSERT_TRUE(stream->copy_out(pair.pinned.data() + 10, pair.device.data(), 900).ok());
  ASSERT_TRUE(stream->record(*event).ok());
  ASSERT_TRUE(event->wait().ok());
  EXPECT_EQ(pair.pinned.data()[9], std::byte{0});
  EXPECT_EQ(pair.pinned.data()[10], std::byte{7});
  EXPECT_EQ(pair.pinned.data()[909], std::byte{7});
  EXPECT_EQ(pair.pinned.data()[910], std::byte{0});
}

TEST(HostDevice, ACopyEndsLate) {
  HostDevice device({.copy_latency = 20ms});
  Pair pair(device, 64);
  const auto stream = device.stream().value();
  const auto end = device.event().value();
  ASSERT_TRUE(stream->copy_in(pair.device.data(), pair.pinned.data(), 8).ok());
  ASSERT_TRUE(stream->record(*end).ok());
  EXPECT_FALSE(end->done().value());
  ASSERT_TRUE(end->wait().ok());
  EXPECT_TRUE(end->done().value());
}

TEST(HostDevice, AStreamWaitsForAnotherAndTheHostDoesNot) {
  HostDevice device({.copy_latency = 5ms});
  Pair source(device, 8), target(device, 8);
  const auto filling = device.stream().value();
  const auto reading = device.stream().value();
  const auto filled = device.event().value();
  const auto read = device.event().value();
  std::memset(source.pinned.data(), 9, 8);
  std::memset(target.pinned.data(), 0, 8);
  ASSERT_TRUE(filling->copy_in(source.device.data(), source.pinned.data(), 8).ok());
  ASSERT_TRUE(filling->record(*filled).ok());
  ASSERT_TRUE(reading->wait(*filled).ok());
  ASSERT_TRUE(reading->copy_out(target.pinned.data(), source.device.data(), 8).ok());
  ASSERT_TRUE(reading->record(*read).ok());
  EXPECT_FALSE(read->done().value());
  ASSERT_TRUE(read->wait().ok());
  EXPECT_EQ(target.pinned.data()[7], std::byte{9});
}

TEST(HostDevice, LaunchesKernels) {
  HostDevice device({.launch_latency = 1ms});
  Pair in(device, 4000), rows(device, 4 * sizeof(std::int64_t)), out(device, 400);
  const auto stream = device.stream().value();
  const auto end = device.event().value();
  for (std::size_t i = 0; i < 4000; ++i) in.pinned.data()[i] = static_cast<std::byte>(i / 100);
  const std::int64_t numbers[] = {39, 0, 5, 5};
  std::memcpy(rows.pinned.data(), numbers, sizeof(numbers));
  ASSERT_TRUE(stream->copy_in(in.device.data(), in.pinned.data(), 4000).ok());
  ASSERT_TRUE(stream->copy_in(rows.device.data(), rows.pinned.data(), sizeof(numbers)).ok());
  GatherArguments arguments{.in = reinterpret_cast<const std::uint8_t*>(in.device.data()),
                            .stride = 100,
                            .rows = reinterpret_cast<const std::int64_t*>(rows.device.data()),
                            .count = 4,
                            .out = reinterpret_cast<std::uint8_t*>(out.device.data()),
                            .row_bytes = 100,
                            .unit = 4};
  ASSERT_TRUE(stream->launch(KernelId::kGather, Gather::blocks(arguments), &arguments).ok());
  arguments = {};  // was copied
  ASSERT_TRUE(stream->copy_out(out.pinned.data(), out.device.data(), 400).ok());
  ASSERT_TRUE(stream->record(*end).ok());
  ASSERT_TRUE(end->wait().ok());
  for (std::size_t i = 0; i < 400; ++i) EXPECT_EQ(out.pinned.data()[i], static_cast<std::byte>(numbers[i / 100]));
}

TEST(HostDevice, RefusesMemoryOfTheWrongKind) {
  HostDevice device;
  Pair pair(device, 100);
  const auto stream = device.stream().value();
  std::byte outside[8];
  EXPECT_EQ(stream->copy_in(outside, pair.pinned.data(), 8).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(stream->copy_in(pair.device.data(), outside, 8).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(stream->copy_in(pair.device.data() + 93, pair.pinned.data(), 8).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(stream->copy_out(pair.device.data(), pair.device.data(), 8).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(stream->copy_out(pair.pinned.data(), pair.pinned.data(), 8).error().code, ErrorCode::kInvalidArgument);
}

TEST(HostDevice, HasAsMuchMemoryAsItSays) {
  HostDevice device({.memory_bytes = 1000});
  Memory first = device.allocate(Where::kDevice, 600).value();
  const auto more = device.allocate(Where::kDevice, 401);
  ASSERT_FALSE(more.ok());
  EXPECT_EQ(more.error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(more.error().message, "the host device has no 401 bytes of memory: 600 of 1000 are in use");
  EXPECT_TRUE(device.allocate(Where::kPinned, 5000).ok());
  first.reset();
  EXPECT_EQ(device.used(), 0);
  EXPECT_TRUE(device.allocate(Where::kDevice, 1000).ok());
}

TEST(HostDevice, ALostDeviceFailsEveryCallAndHangsNone) {
  HostDevice device({.copy_latency = 2ms});
  Pair pair(device, 8);
  const auto stream = device.stream().value();
  const auto event = device.event().value();
  ASSERT_TRUE(stream->copy_in(pair.device.data(), pair.pinned.data(), 8).ok());
  ASSERT_TRUE(stream->record(*event).ok());
  device.lose();
  for (const Status& status : {event->wait(), stream->copy_in(pair.device.data(), pair.pinned.data(), 8),
                               stream->record(*event), stream->wait(*event)}) {
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::kDeviceLost);
  }
  EXPECT_EQ(event->done().error().code, ErrorCode::kDeviceLost);
  EXPECT_EQ(device.allocate(Where::kDevice, 8).error().code, ErrorCode::kDeviceLost);
  EXPECT_EQ(device.stream().error().code, ErrorCode::kDeviceLost);
  EXPECT_EQ(event->wait().error().code, ErrorCode::kDeviceLost);
}

TEST(HostDevice, StreamsOfManyThreadsAgreeByEvents) {
  HostDevice device;
  constexpr std::size_t kThreads = 4, kRounds = 50;
  Pair shared(device, kThreads);
  std::vector<std::unique_ptr<Stream>> streams;
  streams.reserve(kThreads);
  for (std::size_t i = 0; i < kThreads; ++i) streams.push_back(device.stream().value());
  const auto last = streams.back().get();
  std::vector<std::jthread> threads;
  std::vector<std::unique_ptr<Event>> events;
  events.reserve(kThreads);
  for (std::size_t i = 0; i + 1 < kThreads; ++i) events.push_back(device.event().value());
  for (std::size_t i = 0; i + 1 < kThreads; ++i) {
    threads.emplace_back([&, i] {
      for (std::size_t round = 0; round < kRounds; ++round) {
        // Each has a byte of its own in either memory.
        ASSERT_TRUE(events[i]->wait().ok());
        shared.pinned.data()[i] = static_cast<std::byte>(round);
        ASSERT_TRUE(streams[i]->copy_in(shared.device.data() + i, shared.pinned.data() + i, 1).ok());
        ASSERT_TRUE(streams[i]->record(*events[i]).ok());
      }
    });
  }
  threads.clear();
  const auto end = device.event().value();
  for (const auto& event : events) ASSERT_TRUE(last->wait(*event).ok());
  ASSERT_TRUE(last->copy_out(shared.pinned.data(), shared.device.data(), kThreads - 1).ok());
  ASSERT_TRUE(last->record(*end).ok());
  ASSERT_TRUE(end->wait().ok());
  for (std::size_t i = 0; i + 1 < kThreads; ++i)
    EXPECT_EQ(shared.pinned.data()[i], static_cast<std::byte>(kRounds - 1));
}

TEST(HostDevice, AStreamEndsWhenItsWorkHas) {
  HostDevice device({.copy_latency = 2ms});
  Pair pair(device, 4);
  std::memset(pair.pinned.data(), 3, 4);
  {
    const auto stream = device.stream().value();
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(stream->copy_in(pair.device.data(), pair.pinned.data(), 4).ok());
  }
  const auto stream = device.stream().value();
  const auto event = device.event().value();
  std::memset(pair.pinned.data(), 0, 4);
  ASSERT_TRUE(stream->copy_out(pair.pinned.data(), pair.device.data(), 4).ok());
  ASSERT_TRUE(stream->record(*event).ok());
  ASSERT_TRUE(event->wait().ok());
  EXPECT_EQ(pair.pinned.data()[3], std::byte{3});
}

}  // namespace
}  // namespace drapps::device
