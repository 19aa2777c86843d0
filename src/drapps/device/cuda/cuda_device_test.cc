#include "drapps/device/cuda/cuda_device.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "drapps/device/cuda/cuda_stand_in_test.h"
#include "drapps/device/kernel/gather.h"

namespace drapps::device {
namespace {

constexpr unsigned char kKernelsText[] = "kernels";
constexpr KernelImage kImage{90, false, kKernelsText};

CudaStandIn& stand_in() {
  void* const library = ::dlopen(CUDA_STAND_IN, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  return *reinterpret_cast<CudaStandInState*>(::dlsym(library, kCudaStandInState))();
}

std::unique_ptr<CudaDevice> new_device() {
  return CudaDevice::make(CudaDriver::load(CUDA_STAND_IN).value(), 0, std::span(&kImage, 1)).value();
}

TEST(CudaDevice, IsNotThereWithoutADriver) {
  const auto driver = CudaDriver::load("libcuda_that_is_not_there.so.1");
  ASSERT_FALSE(driver.ok());
  EXPECT_EQ(driver.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(driver.error().message,
            "no device of CUDA can be used: there is no libcuda_that_is_not_there.so.1 on this machine; leave out "
            "device=, or see to the driver");
}

TEST(CudaDevice, AnOrdinalThatIsNotThereIsRefused) {
  const auto driver = CudaDriver::load(CUDA_STAND_IN).value();
  EXPECT_EQ(stand_in().contexts, 0);
  const auto device = CudaDevice::make(driver, 1, std::span(&kImage, 1));
  EXPECT_EQ(device.error().message, "there is no GPU 1: this process sees 1");
  EXPECT_EQ(CudaDevice::make(driver, 0, {}).error().message, "no kernel was built for GPUs of architecture 90");
  EXPECT_EQ(stand_in().contexts, 0);
}

TEST(CudaDevice, CopiesAndLaunchesInItsContextAlone) {
  CudaStandIn& gpu = stand_in();
  {
    const auto device = new_device();
    EXPECT_EQ(device->name(), "Stand-in");
    EXPECT_EQ(gpu.contexts, 1);
    const auto stream = device->stream().value();
    const auto event = device->event().value();
    const Memory host = device->allocate(Where::kPinned, 300).value();
    const Memory there = device->allocate(Where::kDevice, 300).value();
    for (std::size_t i = 0; i < 200; ++i) host.data()[i] = static_cast<std::byte>(i);
    const std::int64_t row = 3;
    std::memcpy(host.data() + 200, &row, sizeof(row));
    ASSERT_TRUE(stream->copy_in(there.data(), host.data(), 208).ok());
    auto* const memory = reinterpret_cast<std::uint8_t*>(there.data());
    const GatherArguments arguments{.in = memory,
                                    .stride = 50,
                                    .rows = reinterpret_cast<const std::int64_t*>(there.data() + 200),
                                    .count = 1,
                                    .out = memory + 208,
                                    .row_bytes = 50,
                                    .unit = 2};
    ASSERT_TRUE(stream->launch(KernelId::kGather, Gather::blocks(arguments), &arguments).ok());
    ASSERT_TRUE(stream->copy_out(host.data(), there.data() + 208, 50).ok());
    ASSERT_TRUE(stream->record(*event).ok());
    ASSERT_TRUE(stream->wait(*event).ok());
    EXPECT_FALSE(event->done().value());
    EXPECT_TRUE(event->done().value());
    ASSERT_TRUE(event->wait().ok());
    for (std::size_t i = 0; i < 50; ++i) EXPECT_EQ(host.data()[i], static_cast<std::byte>(150 + i));
    EXPECT_EQ(gpu.current, 0);
  }
  EXPECT_EQ(gpu.contexts, 0);
  EXPECT_EQ(gpu.blocks_of_memory, 0);
  EXPECT_EQ(gpu.streams + gpu.events + gpu.modules, 0);
  EXPECT_EQ(gpu.checked_calls, 0) << "a capture of a graph by another thread would have been invalidated";
}

/// The child of a fork has a copy of the context, which is of no use: it says so, and leaves all of it alone.
TEST(CudaDevice, IsOfNoUseInAChildOfAFork) {
  auto device = new_device();
  auto stream = device->stream().value();
  auto event = device->event().value();
  Memory there = device->allocate(Where::kDevice, 300).value();
  const pid_t child = ::fork();
  if (child == 0) {
    const CudaStandIn before = stand_in();
    const Status recorded = stream->record(*event);
    const auto memory = device->allocate(Where::kDevice, 8);
    bool good = !recorded.ok() && recorded.error().code == ErrorCode::kDeviceLost && !memory.ok() &&
                memory.error().message.find("start the child by \"spawn\" or \"forkserver\"") != std::string::npos;
    there.reset();
    event.reset();
    stream.reset();
    device.reset();
    const CudaStandIn& now = stand_in();
    good = good && now.contexts == before.contexts && now.streams == before.streams && now.events == before.events &&
           now.blocks_of_memory == before.blocks_of_memory && now.modules == before.modules;
    ::_exit(good ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(stream->record(*event).ok());
}

TEST(CudaDevice, StreamsHaveTheLeastPriority) {
  CudaStandIn& gpu = stand_in();
  const auto device = new_device();
  for (const int least : {0, 3}) {
    gpu.least_priority = least;
    gpu.priority = -1;
    ASSERT_TRUE(device->stream().ok());
    EXPECT_EQ(gpu.priority, least);
  }
  gpu.fail_next = 700;
  EXPECT_EQ(device->stream().error().code, ErrorCode::kDeviceLost);
  EXPECT_EQ(gpu.streams, 0);
}

TEST(CudaDevice, ErrorsSayWhatFailedAndTellMemoryApart) {
  CudaStandIn& gpu = stand_in();
  const auto device = new_device();
  gpu.no_memory = true;
  EXPECT_EQ(device->allocate(Where::kDevice, 8).error().code, ErrorCode::kResourceExhausted);
  gpu.no_memory = false;
  const auto stream = device->stream().value();
  const auto event = device->event().value();
  gpu.fail_next = 700;
  const Status lost = stream->record(*event);
  EXPECT_EQ(lost.error().code, ErrorCode::kDeviceLost);
  EXPECT_EQ(lost.error().message,
            "an event on the GPU failed with CUDA_ERROR_ILLEGAL_ADDRESS (700); the context of this process may be of "
            "no use any more: start it again");
}

TEST(KernelImages, TheLatestThatRunsIsTaken) {
  const KernelImage images[] = {{75, false, {}}, {80, false, {}}, {86, false, {}}, {90, false, {}}, {75, true, {}}};
  const auto chosen = [&](int architecture) {
    const KernelImage* image = image_for(images, architecture);
    return image == nullptr ? 0 : image->architecture * (image->ptx ? -1 : 1);
  };
  EXPECT_EQ(chosen(75), 75);
  EXPECT_EQ(chosen(86), 86);
  EXPECT_EQ(chosen(87), 86);
  EXPECT_EQ(chosen(89), 86);
  EXPECT_EQ(chosen(90), 90);
  EXPECT_EQ(chosen(103), -75);
  EXPECT_EQ(chosen(70), 0);
}

}  // namespace
}  // namespace drapps::device
