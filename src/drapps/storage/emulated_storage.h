// Files of this machine, as if they lay on another storage.
//
// The bytes are read at once, from the page cache where they are there, and handed over when the emulation says. All
// reads that are under way wait in one queue, on one thread, at any depth.
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <mutex>

#include "drapps/storage/emulation.h"
#include "drapps/storage/read_file.h"
#include "drapps/storage/storage.h"
#include "drapps/storage/timer_queue.h"

namespace drapps {

class EmulatedStorage final : public Storage {
 public:
  explicit EmulatedStorage(Emulation emulation, const RetryOptions& retry = {}) noexcept
      : Storage(retry), emulation_(std::move(emulation)) {}

  std::string_view kind() const noexcept override { return "emulated"; }
  Emulation& emulation() noexcept { return emulation_; }

 private:
  Result<std::unique_ptr<Reader>> make_plain_reader(const ReaderOptions& options, ReadSink& sink) override;
  Status read_once(ReadRequest& request, const ReadLimits& limits, const std::function<bool()>& stopped) override;
  bool try_read_once(ReadRequest& request, const ReadLimits& limits) override;

  Emulation emulation_;
};

/// Reads as drapps::read_record() does, and says when the emulation would have answered. kUnavailable at once for a
/// request that is not let in, and at the deadline, which is counted from its first try, for one that stalls.
Status read_emulated(Emulation& emulation, ReadRequest& request, const ReadLimits& limits,
                     std::chrono::nanoseconds deadline, std::uint64_t& end_ns);

/// At most `depth` requests are under way, first come, first served.
class EmulatedReader final : public Reader {
 public:
  EmulatedReader(Emulation& emulation, const ReaderOptions& options, std::chrono::nanoseconds deadline, ReadSink& sink);
  ~EmulatedReader() override;

  void submit(ReadRequest& request) override;
  void set_depth(int depth) override;
  ReaderKind kind() const noexcept override { return ReaderKind::kPread; }

 private:
  void begin_more();
  void begin(ReadRequest& request);
  void end(ReadRequest& request, Status status);

  Emulation& emulation_;
  const ReadLimits limits_;
  const std::chrono::nanoseconds deadline_;
  ReadSink& sink_;

  std::mutex mutex_;  // guards all below but the timers
  ReadQueue queue_;
  int depth_;
  int under_way_ = 0;
  bool closed_ = false;

  TimerQueue timers_;  // last: its thread ends requests
};

}  // namespace drapps
