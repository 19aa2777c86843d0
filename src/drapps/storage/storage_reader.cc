#include "drapps/storage/storage_reader.h"

#include <utility>

#include "drapps/base/caught.h"
#include "drapps/base/clock.h"
#include "drapps/storage/read_file.h"

namespace drapps {

StorageReader::~StorageReader() {
  // From here on nothing is tried again. What waits for that is told so before the reader goes, which then finishes
  // what it has.
  for (TimerQueue::TimedRead& entry : retries_.close()) end(*entry.request, cancelled());
  plain_.reset();
}

void StorageReader::submit(ReadRequest& request) {
  storage_.meter_.in_flight.fetch_add(1, std::memory_order_relaxed);
  storage_.begin_tries(request);
  plain_->submit(request);
}

void StorageReader::read_done(ReadRequest& request, Status status) noexcept {
  const Status waits = catching([&]() -> Status {
    const std::uint64_t pause = storage_.pause_before_retry(request, status);
    if (pause == 0) return Error{.code = ErrorCode::kUnavailable};
    return retries_.add(monotonic_ns() + pause, request);
  });
  if (!waits.ok()) end(request, std::move(status));
}

void StorageReader::end(ReadRequest& request, Status status) noexcept {
  storage_.count(request, status);
  sink_.read_done(request, std::move(status));
}

}  // namespace drapps
