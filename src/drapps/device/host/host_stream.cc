#include "drapps/device/host/host_stream.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "drapps/base/caught.h"
#include "drapps/base/clock.h"

namespace drapps::device {
namespace {

Error misplaced(const char* what) {
  return {.code = ErrorCode::kInvalidArgument,
          .stage = Stage::kDeliver,
          .message = std::string("a copy ") + what + " does not lie whole in one piece of the device's memory"};
}

}  // namespace

void HostEvent::EventState::reach(std::uint64_t time) {
  const std::scoped_lock lock(mutex);
  reached = std::max(reached, time);
  at_ns = monotonic_ns();
  reached_more.notify_all();
}

void HostEvent::EventState::await(std::uint64_t time) {
  std::unique_lock lock(mutex);
  reached_more.wait(lock, [&] { return reached >= time; });
}

Result<bool> HostEvent::done() {
  DRAPPS_RETURN_IF_ERROR(device_.alive());
  const std::scoped_lock lock(place_->mutex);
  return place_->reached >= place_->recorded;
}

Result<std::uint64_t> HostEvent::since(Event& earlier) {
  DRAPPS_RETURN_IF_ERROR(device_.alive());
  EventState& before = *static_cast<HostEvent&>(earlier).place_;
  if (&before == place_.get()) return std::uint64_t{0};
  const std::scoped_lock lock(place_->mutex, before.mutex);
  return place_->at_ns - before.at_ns;
}

Status HostEvent::wait() {
  std::unique_lock lock(place_->mutex);
  const std::uint64_t time = place_->recorded;
  lock.unlock();
  place_->await(time);
  return device_.alive();
}

Result<std::unique_ptr<HostStream>> HostStream::make(HostDevice& device) {
  std::unique_ptr<HostStream> self;
  DRAPPS_RETURN_IF_ERROR(catching([&] { self.reset(new HostStream(device)); }));
  auto thread = ServiceThread::start("drapps-stream", [stream = self.get()](const std::stop_token&) { stream->run(); });
  if (!thread.ok()) return std::move(thread).error();
  self->thread_ = *std::move(thread);
  return self;
}

HostStream::~HostStream() {
  if (!thread_.joinable()) return;
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
  }
  more_.notify_one();
  thread_.join();
}

void HostStream::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    more_.wait(lock, [this] { return ending_ || !queue_.empty(); });
    if (queue_.empty()) return;
    const std::function<void()> work = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    work();
    lock.lock();
  }
}

Status HostStream::add(std::function<void()> work) {
  DRAPPS_RETURN_IF_ERROR(device_.alive());
  DRAPPS_RETURN_IF_ERROR(catching([&] {
    const std::scoped_lock lock(mutex_);
    queue_.push_back(std::move(work));
  }));
  more_.notify_one();
  return ok_status();
}

Status HostStream::copy_in(std::byte* device, const std::byte* host, std::size_t bytes) {
  if (!device_.owns(Where::kDevice, device, bytes)) return misplaced("to the device");
  if (!device_.owns(Where::kPinned, host, bytes)) return misplaced("from pinned memory");
  return copy(device, host, bytes);
}

Status HostStream::copy_out(std::byte* host, const std::byte* device, std::size_t bytes) {
  if (!device_.owns(Where::kPinned, host, bytes)) return misplaced("to pinned memory");
  if (!device_.owns(Where::kDevice, device, bytes)) return misplaced("from the device");
  return copy(host, device, bytes);
}

Status HostStream::copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  return add([this, to, from, bytes] {
    std::this_thread::sleep_for(device_.options().copy_latency);
    if (device_.alive().ok()) std::memcpy(to, from, bytes);
  });
}

Status HostStream::launch(KernelId id, std::int64_t blocks, const void* arguments) {
  device_.count_launch();
  const Kernel& what = kernel(id);
  const auto* first = static_cast<const std::byte*>(arguments);
  // In words of the strictest alignment that a body's arguments have.
  std::vector<std::uint64_t> copied((what.argument_bytes + 7) / 8);
  std::memcpy(copied.data(), first, what.argument_bytes);
  return add([this, &what, blocks, copied = std::move(copied)] {
    std::this_thread::sleep_for(device_.options().launch_latency);
    if (!device_.alive().ok()) return;
    std::vector<std::max_align_t> shared(what.shared_bytes / sizeof(std::max_align_t) + 1);
    for (std::int64_t i = 0; i < blocks; ++i) {
      // The last block first, and some thread in the middle: nothing may depend on either.
      const std::int64_t block = blocks - 1 - i;
      what.run_block(reinterpret_cast<const std::byte*>(copied.data()), reinterpret_cast<std::byte*>(shared.data()),
                     static_cast<std::int32_t>(block), static_cast<std::int32_t>(block % what.threads));
    }
  });
}

Status HostStream::record(Event& event) {
  const auto place = static_cast<HostEvent&>(event).place_;
  std::uint64_t time = 0;
  {
    const std::scoped_lock lock(place->mutex);
    time = ++place->recorded;
  }
  Status added = add([place, time] { place->reach(time); });
  if (!added.ok()) place->reach(time);  // nobody is to wait for what never comes
  return added;
}

Status HostStream::wait(Event& event) {
  const auto place = static_cast<HostEvent&>(event).place_;
  std::unique_lock lock(place->mutex);
  const std::uint64_t time = place->recorded;
  lock.unlock();
  return add([place, time] { place->await(time); });
}

}  // namespace drapps::device
