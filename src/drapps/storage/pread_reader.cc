#include "drapps/storage/pread_reader.h"

#include <algorithm>
#include <string>
#include <utility>

#include "drapps/base/caught.h"

namespace drapps {

Result<std::unique_ptr<Reader>> PreadReader::make(const ReaderOptions& options, ReadSink& sink) {
  std::unique_ptr<PreadReader> reader(new PreadReader(options.limits, sink));
  DRAPPS_RETURN_IF_ERROR(reader->grow(1));
  reader->set_depth(options.depth);
  return std::unique_ptr<Reader>(std::move(reader));
}

PreadReader::~PreadReader() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_.notify_all();
  unused_.notify_all();
  for (ServiceThread& thread : threads_) thread.join();
  while (ReadRequest* const request = queue_.pop()) cancel(*request, sink_);
}

void PreadReader::submit(ReadRequest& request) {
  if (complete_from_memory(request, sink_)) return;
  {
    const std::lock_guard lock(mutex_);
    if (!stopping_) {
      queue_.push(request);
      work_.notify_one();
      return;
    }
  }
  cancel(request, sink_);
}

void PreadReader::set_depth(int depth) {
  (void)grow(std::clamp(depth, 1, kMaxReadDepth));
  work_.notify_all();
  unused_.notify_all();
}

Status PreadReader::grow(int depth) {
  const std::lock_guard lock(mutex_);
  depth_ = depth;
  DRAPPS_RETURN_IF_ERROR(catching([&] { threads_.reserve(static_cast<std::size_t>(depth)); }));
  while (threads_.size() < static_cast<std::size_t>(depth)) {
    const auto id = static_cast<int>(threads_.size());
    Result<ServiceThread> thread =
        ServiceThread::start("drapps-io-" + std::to_string(id), [this, id](const std::stop_token&) { serve(id); });
    if (!thread.ok()) return std::move(thread).error();
    threads_.push_back(std::move(*thread));
  }
  return ok_status();
}

void PreadReader::serve(int id) {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (id >= depth_) {
      unused_.wait(lock);
      continue;
    }
    ReadRequest* const request = queue_.pop();
    if (request == nullptr) {
      work_.wait(lock);
      continue;
    }
    lock.unlock();
    Status status = read_record(*request, limits_);
    sink_.read_done(*request, std::move(status));
    lock.lock();
  }
}

}  // namespace drapps
