#include "drapps/device/host/host_device.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cassert>

#include "drapps/base/caught.h"
#include "drapps/device/host/host_stream.h"

namespace drapps::device {
namespace {

constexpr std::size_t kDeviceAlignment = 256;

std::size_t page() noexcept {
  static const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

Error no_memory(std::size_t bytes, const std::string& why) {
  return {.code = ErrorCode::kResourceExhausted,
          .stage = Stage::kDeliver,
          .message = "the host device has no " + std::to_string(bytes) + " bytes of memory: " + why};
}

}  // namespace

HostDevice::~HostDevice() { assert(pieces_.empty()); }

Status HostDevice::alive() const {
  if (!lost_) return ok_status();
  return Error{.code = ErrorCode::kDeviceLost,
               .stage = Stage::kDeliver,
               .message = "the host device was lost; start again, without device="};
}

Result<Memory> HostDevice::allocate(Where where, std::size_t bytes) {
  DRAPPS_RETURN_IF_ERROR(alive());
  const std::scoped_lock lock(mutex_);
  if (where == Where::kDevice && bytes > options_.memory_bytes - used_) {
    return no_memory(bytes, std::to_string(used_) + " of " + std::to_string(options_.memory_bytes) + " are in use");
  }
  // It ends where the page begins that may not be touched, but for what alignment takes.
  const std::size_t rounded = (bytes + kDeviceAlignment - 1) / kDeviceAlignment * kDeviceAlignment;
  const std::size_t pages = (rounded + page() - 1) / page() * page();
  void* const mapping = ::mmap(nullptr, pages + page(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) return no_memory(bytes, "the system has none");
  auto* const first = static_cast<std::byte*>(mapping);
  ::mprotect(first + pages, page(), PROT_NONE);
  std::byte* const data = first + (pages - rounded);
  const Status noted = catching([&] { pieces_.insert({data, {bytes, pages + page(), first, where}}); });
  if (!noted.ok()) {
    ::munmap(mapping, pages + page());
    return noted.error();
  }
  if (where == Where::kDevice) used_ += bytes;
  return Memory(*this, where, data, bytes);
}

void HostDevice::free(Where where, std::byte* data, std::size_t bytes) noexcept {
  const std::scoped_lock lock(mutex_);
  const auto piece = pieces_.find(data);
  assert(piece != pieces_.end() && piece->second.bytes == bytes && piece->second.where == where);
  ::munmap(piece->second.mapping, piece->second.mapped);
  pieces_.erase(piece);
  if (where == Where::kDevice) used_ -= bytes;
}

bool HostDevice::owns(Where where, const std::byte* data, std::size_t bytes) const {
  const std::scoped_lock lock(mutex_);
  const auto behind = pieces_.upper_bound(data);
  if (behind == pieces_.begin()) return false;
  const auto& [first, piece] = *std::prev(behind);
  const auto at = static_cast<std::size_t>(data - first);
  return piece.where == where && at <= piece.bytes && bytes <= piece.bytes - at;
}

std::size_t HostDevice::used() const {
  const std::scoped_lock lock(mutex_);
  return used_;
}

Result<std::unique_ptr<Stream>> HostDevice::stream() {
  DRAPPS_RETURN_IF_ERROR(alive());
  auto host_stream = HostStream::make(*this);
  if (!host_stream.ok()) return std::move(host_stream).error();
  return std::unique_ptr<Stream>(*std::move(host_stream));
}

Result<std::unique_ptr<Stream>> HostDevice::foreign_stream(std::uintptr_t handle) {
  return catching([&]() -> Result<std::unique_ptr<Stream>> {
    return std::unique_ptr<Stream>(std::make_unique<ForeignHostStream>(*reinterpret_cast<Stream*>(handle)));
  });
}

Result<std::unique_ptr<Event>> HostDevice::event() {
  DRAPPS_RETURN_IF_ERROR(alive());
  return catching([this]() -> Result<std::unique_ptr<Event>> {
    return std::unique_ptr<Event>(std::make_unique<HostEvent>(*this));
  });
}

}  // namespace drapps::device
