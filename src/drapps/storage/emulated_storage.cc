#include "drapps/storage/emulated_storage.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "drapps/base/caught.h"
#include "drapps/base/clock.h"

namespace drapps {
namespace {

bool in_memory(const ReadRequest& request) noexcept {
  return std::all_of(request.at.begin(), request.at.begin() + request.parts,
                     [](const Location& part) { return part.path == nullptr; });
}

}  // namespace

Status read_emulated(Emulation& emulation, ReadRequest& request, const ReadLimits& limits,
                     std::chrono::nanoseconds deadline, std::uint64_t& end_ns) {
  const std::uint64_t now = end_ns = monotonic_ns();
  const auto unavailable = [&](const char* why) {
    return about({.code = ErrorCode::kUnavailable, .message = why}, request, kFirstPart);
  };
  request.wall_ns = 0;
  if (!emulation.admits(now)) return unavailable("the storage refuses the request");
  Status status = read_record(request, limits);
  std::uint64_t bytes = 0;
  if (status.ok()) {
    for (RecordPart part = kFirstPart; part < request.parts; ++part) bytes += request.bytes[part].size();
  }
  const std::uint64_t first = request.tries == 0 ? now : request.tried_since_ns;
  const ReadEnd end = emulation.end_of(bytes, now, first + static_cast<std::uint64_t>(deadline.count()));
  end_ns = end.at_ns;
  request.begun_ns = now;
  request.wall_ns = end_ns - now;
  return end.given_up ? unavailable("the storage does not answer") : std::move(status);
}

Result<std::unique_ptr<Reader>> EmulatedStorage::make_plain_reader(const ReaderOptions& options, ReadSink& sink) {
  return std::unique_ptr<Reader>(std::make_unique<EmulatedReader>(emulation_, options, retry().deadline, sink));
}

Status EmulatedStorage::read_once(ReadRequest& request, const ReadLimits& limits,
                                  const std::function<bool()>& stopped) {
  if (in_memory(request)) return read_record(request, limits);
  std::uint64_t end = 0;
  Status status = read_emulated(emulation_, request, limits, retry().deadline, end);
  return wait_until(end, stopped) ? std::move(status) : cancelled();
}

bool EmulatedStorage::try_read_once(ReadRequest& request, const ReadLimits& limits) {
  return in_memory(request) && try_read_record(request, limits);
}

EmulatedReader::EmulatedReader(Emulation& emulation, const ReaderOptions& options, std::chrono::nanoseconds deadline,
                               ReadSink& sink)
    : emulation_(emulation),
      limits_(options.limits),
      deadline_(deadline),
      sink_(sink),
      depth_(std::clamp(options.depth, 1, kMaxReadDepth)),
      timers_("drapps-emulate", [this](auto& entry) { end(*entry.request, std::move(entry.status)); }) {}

EmulatedReader::~EmulatedReader() {
  {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
  }
  // What was begun has been read already, and ends sooner than it would have.
  for (TimerQueue::TimedRead& entry : timers_.close()) sink_.read_done(*entry.request, std::move(entry.status));
  while (ReadRequest* const request = queue_.pop()) cancel(*request, sink_);
}

void EmulatedReader::submit(ReadRequest& request) {
  if (complete_from_memory(request, sink_)) return;
  bool closed = false;
  {
    const std::scoped_lock lock(mutex_);
    closed = closed_;
    if (!closed) queue_.push(request);
  }
  closed ? cancel(request, sink_) : begin_more();
}

void EmulatedReader::set_depth(int depth) {
  {
    const std::scoped_lock lock(mutex_);
    depth_ = std::clamp(depth, 1, kMaxReadDepth);
  }
  begin_more();
}

void EmulatedReader::begin_more() {
  for (;;) {
    ReadRequest* request = nullptr;
    {
      const std::scoped_lock lock(mutex_);
      if (closed_ || under_way_ >= depth_) return;
      request = queue_.pop();
      if (request == nullptr) return;
      ++under_way_;
    }
    begin(*request);
  }
}

void EmulatedReader::begin(ReadRequest& request) {
  std::uint64_t end_ns = 0;
  Status status = read_emulated(emulation_, request, limits_, deadline_, end_ns);
  if (Status added = timers_.add(end_ns, request, status); !added.ok()) end(request, std::move(added));
}

void EmulatedReader::end(ReadRequest& request, Status status) {
  {
    const std::scoped_lock lock(mutex_);
    --under_way_;
  }
  sink_.read_done(request, std::move(status));
  begin_more();
}

}  // namespace drapps
