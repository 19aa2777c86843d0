// Ranges of files that are read before they are wanted, where storage makes readers wait: the waits are then side by
// side.
//
//   PrefetchedReads prefetched(storage, nullptr, ledger, 8);
//   const FileReads reads(storage, &prefetched);
//   reads.prefetch(range);                         // comes back at once
//   DRAPPS_RETURN_IF_ERROR(reads.read(request));  // of the same range: has it, or waits for the rest of its time
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>

#include "drapps/base/memory_ledger.h"
#include "drapps/data/buffer.h"
#include "drapps/storage/file_reads.h"

namespace drapps {

/// Of a storage with a page cache nothing is prefetched until a reader has had to wait, nor where what was prefetched
/// has come at once lately, nor what is kept already, nor where more than half of the memory is used.
class PrefetchedReads final : public KeptReads, private ReadSink {
 public:
  /// @param storage  outlives this.
  /// @param kept     what was read before, or null.
  /// @param ledger   of the buffers of requests.
  /// @param depth    how many ranges are read at once.
  PrefetchedReads(Storage& storage, std::shared_ptr<KeptReads> kept, MemoryLedger& ledger, int depth);
  ~PrefetchedReads() override;
  PrefetchedReads(const PrefetchedReads&) = delete;
  PrefetchedReads& operator=(const PrefetchedReads&) = delete;

  void set_depth(int depth);

  std::optional<Status> find(ReadRequest& request) noexcept override;
  void keep(const ReadRequest& request) noexcept override;
  bool has(const Location& at) const noexcept override { return kept_ != nullptr && kept_->has(at); }
  std::size_t ahead() const noexcept override;
  void prefetch(const Location& at, const WhenRead& then = {}) noexcept override;

 private:
  /// A file, or its shard; where the range begins, and its bytes.
  using Range = std::tuple<const void*, std::uint64_t, std::uint64_t>;
  struct PrefetchedRange {
    explicit PrefetchedRange(MemoryLedger& ledger) : buffer(ledger) {}
    Buffer buffer;
    ReadRequest request;
    WhenRead then;
    std::optional<Status> status;  // once it has ended
    std::uint64_t due = 0;         // the number of taken ranges after which nobody wants it any more
  };

  static Range range_of(const Location& at) noexcept;
  PrefetchedRange* add(const Location& at, const WhenRead& then);
  bool make_room(std::size_t bytes) noexcept;
  std::unique_ptr<PrefetchedRange> take(const Location& at);
  void read_done(ReadRequest& request, Status status) noexcept override;

  Storage& storage_;
  const std::shared_ptr<KeptReads> kept_;
  MemoryLedger& ledger_;
  std::atomic<int> depth_;
  std::atomic<bool> slow_;
  std::atomic<std::uint32_t> at_once_{0};  // ranges one behind the other that came at once
  std::atomic<std::size_t> count_{0};      // of ranges_

  std::mutex mutex_;  // guards what follows
  std::condition_variable ended_;
  std::map<Range, std::unique_ptr<PrefetchedRange>> ranges_;
  std::size_t bytes_ = 0;    // of memory, of ranges_
  std::uint64_t taken_ = 0;  // ranges so far
  std::size_t calls_ = 0;    // of `then`, under way
  bool ending_ = false;
  std::unique_ptr<Reader> reader_;  // once something was prefetched; last: its threads call read_done()
};

}  // namespace drapps
