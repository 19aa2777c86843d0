#include "drapps/device/metered_stream.h"

#include <utility>

#include "drapps/base/caught.h"

namespace drapps::device {

Result<std::unique_ptr<MeteredStream>> MeteredStream::make(Device& device, DeviceCounters& counters) {
  auto stream = device.stream();
  if (!stream.ok()) return std::move(stream).error();
  return catching([&]() -> Result<std::unique_ptr<MeteredStream>> {
    return std::unique_ptr<MeteredStream>(new MeteredStream(device, counters, *std::move(stream)));
  });
}

MeteredStream::~MeteredStream() {
  static_cast<void>(pause());
  stream_.reset();  // waits for all
  count();
}

Result<MeteredStream::Mark> MeteredStream::mark() {
  Mark stamp;
  if (free_.empty()) {
    auto event = device_.timed_event();
    if (!event.ok()) return std::move(event).error();
    stamp = *std::move(event);
  } else {
    stamp = std::move(free_.back());
    free_.pop_back();
  }
  DRAPPS_RETURN_IF_ERROR(stream_->record(*stamp));
  return stamp;
}

Status MeteredStream::begin(StreamWork kind) {
  if (kind == kind_) return ok_status();
  return catching([&]() -> Status {
    auto now = mark();
    if (!now.ok()) return std::move(now).error();
    if (kind_ != StreamWork::kNone) runs_.push_back({kind_, std::move(begun_), *now});
    begun_ = *std::move(now);
    kind_ = kind;
    return ok_status();
  });
}

void MeteredStream::count() noexcept {
  const auto counting = [&]() -> Status {
    while (!runs_.empty()) {
      StreamRun& run = runs_.front();
      auto ended = run.end->done();
      if (!ended.ok()) return std::move(ended).error();
      if (!*ended) return ok_status();
      auto spent = run.end->since(*run.begin);
      if (!spent.ok()) return std::move(spent).error();
      auto& total = run.kind == StreamWork::kCopies ? counters_.copy_ns : counters_.kernel_ns;
      total.fetch_add(*spent, std::memory_order_relaxed);
      // The end of one run is the begin of the next.
      if (run.begin.use_count() == 1) free_.push_back(std::move(run.begin));
      if (run.end.use_count() == 1) free_.push_back(std::move(run.end));
      runs_.pop_front();
    }
    return ok_status();
  };
  if (!catching(counting).ok()) runs_.clear();  // a lost device keeps no time
}

Status MeteredStream::pause() {
  Status paused = begin(StreamWork::kNone);
  count();
  return paused;
}

Status MeteredStream::copy_in(std::byte* device, const std::byte* host, std::size_t bytes) {
  DRAPPS_RETURN_IF_ERROR(begin(StreamWork::kCopies));
  counters_.bytes_in.fetch_add(bytes, std::memory_order_relaxed);
  return stream_->copy_in(device, host, bytes);
}

Status MeteredStream::copy_out(std::byte* host, const std::byte* device, std::size_t bytes) {
  DRAPPS_RETURN_IF_ERROR(begin(StreamWork::kCopies));
  counters_.bytes_out.fetch_add(bytes, std::memory_order_relaxed);
  return stream_->copy_out(host, device, bytes);
}

Status MeteredStream::launch(KernelId kernel, std::int64_t blocks, const void* arguments) {
  DRAPPS_RETURN_IF_ERROR(begin(StreamWork::kLaunches));
  counters_.launches.fetch_add(1, std::memory_order_relaxed);
  return stream_->launch(kernel, blocks, arguments);
}

Status MeteredStream::wait(Event& event) {
  DRAPPS_RETURN_IF_ERROR(begin(StreamWork::kNone));
  return stream_->wait(event);
}

}  // namespace drapps::device
