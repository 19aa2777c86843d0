// The reader that works everywhere: as many threads as the depth, each reading one record at a time.
#pragma once

#include <condition_variable>
#include <mutex>
#include <vector>

#include "drapps/exec/service_thread.h"
#include "drapps/storage/read_file.h"

namespace drapps {

class PreadReader final : public Reader {
 public:
  static Result<std::unique_ptr<Reader>> make(const ReaderOptions& options, ReadSink& sink);
  ~PreadReader() override;

  void submit(ReadRequest& request) override;
  /// Threads above the depth sleep, and do not end, since the depth moves up and down all the time. Where the system
  /// makes no more threads, the reader goes on with those it has.
  void set_depth(int depth) override;
  ReaderKind kind() const noexcept override { return ReaderKind::kPread; }

 private:
  PreadReader(const ReadLimits& limits, ReadSink& sink) noexcept : limits_(limits), sink_(sink) {}
  Status grow(int depth);
  void serve(int id);

  const ReadLimits limits_;
  ReadSink& sink_;
  std::mutex mutex_;                // guards all below
  std::condition_variable work_;    // threads below the depth wait here
  std::condition_variable unused_;  // threads above the depth wait here, so that no wake-up is spent on them
  ReadQueue queue_;
  int depth_ = 1;
  bool stopping_ = false;
  std::vector<ServiceThread> threads_;
};

}  // namespace drapps
