// What every storage's readers have in common: counts, and another try for what was refused.
#pragma once

#include <memory>

#include "drapps/storage/storage.h"
#include "drapps/storage/timer_queue.h"

namespace drapps {

class StorageReader final : public Reader, public ReadSink {
 public:
  StorageReader(Storage& storage, ReadSink& sink)
      : storage_(storage), sink_(sink), retries_("drapps-retry", [this](auto& entry) { again(entry); }) {}
  ~StorageReader() override;
  /// @param plain  what reads, and tells this object about finished requests.
  void start(std::unique_ptr<Reader> plain) noexcept { plain_ = std::move(plain); }

  void submit(ReadRequest& request) override;
  void set_depth(int depth) override { plain_->set_depth(depth); }
  ReaderKind kind() const noexcept override { return plain_->kind(); }

  void read_done(ReadRequest& request, Status status) noexcept override;

 private:
  void again(TimerQueue::TimedRead& entry) { plain_->submit(*entry.request); }
  void end(ReadRequest& request, Status status) noexcept;

  Storage& storage_;
  ReadSink& sink_;
  TimerQueue retries_;
  std::unique_ptr<Reader> plain_;  // last: its threads call read_done()
};

}  // namespace drapps
