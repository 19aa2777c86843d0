// Runs a plan whose rows are made in streams (modality/row_stream.h), each by one worker at a time.
//
// 1. Of the global batch [P, P + B·W) of a step, rank r has rows P + r, P + r + W, …: where W divides the number of
//    streams, and P is a multiple of W, they are of streams that no other rank works on. With several sources W has to
//    divide the sum of their weights times the streams that there are for each unit of weight.
// 2. A worker takes the stream whose next row is wanted first, makes that row, and puts the stream back. So rows of a
//    batch are made side by side, and those of a stream one after the other.
// 3. Otherwise a stream may have rows of several ranks. Each makes all of them, and keeps its own.
// 4. Where storage makes readers wait, streams announce what they will read. So that they can, they are opened some
//    time before their first row is made.
// 5. Where a stream stood before each of its last rows is remembered, so that a state may be asked for between any two
//    batches, and by who takes batches ahead.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <queue>
#include <vector>

#include "drapps/modality/row_stream.h"
#include "drapps/pipeline/window_runner.h"
#include "drapps/storage/prefetched_reads.h"

namespace drapps {

class StreamRunner final : public WindowRunner {
 public:
  /// Requires parts.arena and parts.plan->streams.
  static Result<std::unique_ptr<StreamRunner>> make(const RunnerParts& parts);
  ~StreamRunner() override;

  void apply(const Settings& settings) override;
  WorkFound run_one() noexcept override;
  std::vector<StreamCursor> cursors(std::uint64_t position) const override;

 private:
  /// A stream of which this rank has rows.
  struct OwnStream {
    std::uint32_t stream = 0;
    std::uint64_t row = 0;               // of all, the next one of this rank
    std::uint64_t of_stream = 0;         // its number in the stream
    StreamCursor first;                  // to begin at; unknown: at the epoch's beginning
    std::unique_ptr<RowStream> rows;     // from its first row on
    bool at_end = false;                 // it has no row any more
    std::deque<StreamCursor> cursors{};  // before rows that may be asked for, ascending
  };
  /// The own stream whose next row comes first.
  struct Later {
    const std::vector<OwnStream>& own;
    bool operator()(std::size_t a, std::size_t b) const noexcept { return own[a].row > own[b].row; }
  };

  explicit StreamRunner(const RunnerParts& parts);

  void free_memory() noexcept override {}
  void taken(Lock& lock) override;

  /// The step of a row of all ranks; place_of() is its place in this rank's batch.
  std::uint64_t step_of(std::uint64_t row) const noexcept { return (row - start_) / (batch_ * world_); }
  std::uint32_t place_of(std::uint64_t row) const noexcept {
    return static_cast<std::uint32_t>((row - start_) % (batch_ * world_) / world_);
  }
  /// Moves on to the first row of this rank from the row `of_stream` on; false where the stream has none.
  bool seek(OwnStream& own, std::uint64_t of_stream) const noexcept;
  WorkFound end_pass(Lock& lock, std::uint64_t step);
  void open(OwnStream& own);
  Status begin_row(std::size_t chosen);
  static Status note_cursor(OwnStream& own);
  Status make_row(OwnStream& own, std::byte* slot);
  void write_origin(const OwnStream& own, std::byte* slot, std::uint32_t place) const;

  PrefetchedReads reads_;
  const RowStreams& streams_;
  const RowDeal& deal_;
  const StreamOrder order_;
  const std::uint64_t start_;
  const std::uint64_t batch_;
  const std::uint64_t world_;
  const std::size_t index_column_, position_column_, flags_column_;

  // The window's mutex guards all below, but what a worker does with the stream that it has taken.
  bool stopping_ = false;
  std::vector<OwnStream> own_;  // by the first row that is theirs
  std::priority_queue<std::size_t, std::vector<std::size_t>, Later> idle_;
};

}  // namespace drapps
