#include "drapps/device/cuda/cuda_device.h"

#include <unistd.h>

#include <utility>

#include "drapps/base/caught.h"
#include "drapps/device/cuda/cuda_stream.h"

namespace drapps::device {
namespace {

constexpr int kComputeMajor = 75;      // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
constexpr int kComputeMinor = 76;      // …_MINOR
constexpr int kRelaxedCapture = 2;     // CU_STREAM_CAPTURE_MODE_RELAXED
constexpr unsigned kPortableHost = 1;  // CU_MEMHOSTALLOC_PORTABLE
constexpr int kCudaNameBytes = 256;

}  // namespace

CudaDevice::Entered::Entered(const CudaDevice& device)
    : device_(device), status_(ok_status()), capture_mode_(kRelaxedCapture) {
  if (device.maker_ != ::getpid()) {
    status_ = Error{.code = ErrorCode::kDeviceLost,
                    .stage = Stage::kDeliver,
                    .message =
                        "a GPU cannot be used in a child of the process that used it before fork(); start the "
                        "child by \"spawn\" or \"forkserver\""};
    return;
  }
  status_ = check(call().push(device.context_), "entering the context");
  if (status_.ok()) call().exchange_capture_mode(&capture_mode_);
}

CudaDevice::Entered::~Entered() {
  if (!status_.ok()) return;
  CudaHandle left = nullptr;
  call().exchange_capture_mode(&capture_mode_);
  call().pop(&left);
}

const CudaFunctions& CudaDevice::Entered::call() const noexcept { return device_.driver_->call(); }

CudaDevice::CudaDevice(std::shared_ptr<const CudaDriver> driver, int ordinal) noexcept
    : driver_(std::move(driver)), ordinal_(ordinal), maker_(::getpid()) {}

Result<std::unique_ptr<CudaDevice>> CudaDevice::make(std::shared_ptr<const CudaDriver> driver, int ordinal,
                                                     std::span<const KernelImage> images) {
  return catching([&]() -> Result<std::unique_ptr<CudaDevice>> {
    const CudaFunctions& call = driver->call();
    int count = 0, device = 0, major = 0, minor = 0;
    DRAPPS_RETURN_IF_ERROR(driver->check(call.device_count(&count), "counting devices"));
    if (ordinal < 0 || ordinal >= count) {
      return invalid("there is no GPU " + std::to_string(ordinal) + ": this process sees " + std::to_string(count),
                     Stage::kDeliver);
    }
    DRAPPS_RETURN_IF_ERROR(driver->check(call.device_get(&device, ordinal), "finding the device"));
    DRAPPS_RETURN_IF_ERROR(driver->check(call.device_attribute(&major, kComputeMajor, device), "asking the device"));
    DRAPPS_RETURN_IF_ERROR(driver->check(call.device_attribute(&minor, kComputeMinor, device), "asking the device"));
    const KernelImage* const image = image_for(images, 10 * major + minor);
    if (image == nullptr) {
      return Error{.code = ErrorCode::kUnsupported,
                   .stage = Stage::kDeliver,
                   .message = "no kernel was built for GPUs of architecture " + std::to_string(10 * major + minor)};
    }
    std::unique_ptr<CudaDevice> instance(new CudaDevice(std::move(driver), device));
    DRAPPS_RETURN_IF_ERROR(instance->load(*image));
    return instance;
  });
}

Status CudaDevice::load(const KernelImage& image) {
  std::string name(kCudaNameBytes, '\0');
  const CudaFunctions& call = driver_->call();
  DRAPPS_RETURN_IF_ERROR(driver_->check(call.device_name(name.data(), kCudaNameBytes, ordinal_), "asking the device"));
  name_ = name.substr(0, name.find('\0'));
  DRAPPS_RETURN_IF_ERROR(driver_->check(call.retain(&context_, ordinal_), "making a context"));
  const Entered entered(*this);
  DRAPPS_RETURN_IF_ERROR(entered.status());
  DRAPPS_RETURN_IF_ERROR(entered.check(call.module_load(&module_, image.bytes.data()), "loading the kernels"));
  for (std::size_t i = 0; i < kKernels; ++i) {
    const char* const kernel_name = kernel(static_cast<KernelId>(i)).name;
    DRAPPS_RETURN_IF_ERROR(
        entered.check(call.module_function(&functions_[i], module_, kernel_name), "finding the kernels"));
  }
  return ok_status();
}

CudaDevice::~CudaDevice() {
  // A child's copy of the context is of no use, and its parent's goes on.
  if (context_ == nullptr || maker_ != ::getpid()) return;
  if (const Entered entered(*this); entered.status().ok() && module_ != nullptr) entered.call().module_unload(module_);
  driver_->call().release(ordinal_);
}

Result<Memory> CudaDevice::allocate(Where where, std::size_t bytes) {
  const Entered entered(*this);
  DRAPPS_RETURN_IF_ERROR(entered.status());
  if (where == Where::kPinned) {
    void* data = nullptr;
    DRAPPS_RETURN_IF_ERROR(
        entered.check(entered.call().allocate_host(&data, bytes, kPortableHost), "allocating pinned memory"));
    return Memory(*this, where, static_cast<std::byte*>(data), bytes);
  }
  CudaAddress address = 0;
  DRAPPS_RETURN_IF_ERROR(entered.check(entered.call().allocate(&address, bytes), "allocating memory"));
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the driver gives addresses as numbers
  return Memory(*this, where, reinterpret_cast<std::byte*>(address), bytes);
}

void CudaDevice::free(Where where, std::byte* data, std::size_t /*bytes*/) noexcept {
  const Entered entered(*this);
  if (!entered.status().ok()) return;
  if (where == Where::kPinned) {
    entered.call().free_host(data);
  } else {
    entered.call().free(reinterpret_cast<CudaAddress>(data));
  }
}

Result<std::unique_ptr<Stream>> CudaDevice::stream() { return CudaStream::make(*this); }

Result<std::unique_ptr<Stream>> CudaDevice::foreign_stream(std::uintptr_t handle) {
  return CudaStream::of(*this, reinterpret_cast<CudaHandle>(handle));
}

Result<std::unique_ptr<Event>> CudaDevice::event() { return CudaEvent::make(*this, false); }

Result<std::unique_ptr<Event>> CudaDevice::timed_event() { return CudaEvent::make(*this, true); }

}  // namespace drapps::device
