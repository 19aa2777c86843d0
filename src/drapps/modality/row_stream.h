// Rows that cannot be made one by one: each goes on where the one before it ended, in one of several streams.
//
//   auto rows = streams->open(stream, order, cursor, ledger);
//   DRAPPS_RETURN_IF_ERROR(rows->next(slot, row));
//   cursor = rows->cursor();  // from here on another RowStream goes on
//
// Which row of which stream a row of an epoch is, a RowDeal says. What a row has follows from the description, the
// source, the epoch and its number alone; a cursor says where in its stream a row begins, so that what stands before
// need not be made again.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "drapps/base/error.h"
#include "drapps/base/memory_ledger.h"
#include "drapps/base/philox.h"
#include "drapps/base/result.h"
#include "drapps/modality/row_deal.h"

namespace drapps {

struct BatchColumns;  // columns.h
class KeptReads;      // storage/file_reads.h

/// Plain, and part of saved states.
struct StreamCursor {
  static constexpr std::uint64_t kUnknown = std::numeric_limits<std::uint64_t>::max();

  std::uint64_t row = kUnknown;  // of the stream
  std::array<std::uint64_t, 3> place{};
  bool known() const noexcept { return row != kUnknown; }
};
static_assert(sizeof(StreamCursor) == 32);

/// One stream of rows; for one thread at a time.
class RowStream {
 public:
  virtual ~RowStream() = default;
  /// Where the next row begins.
  virtual StreamCursor cursor() const noexcept = 0;
  /// Makes the next row and writes it into a row of a batch, or nowhere where `slot` is null. After
  /// kResourceExhausted another call goes on; any other error is that of the row, and of all behind it
  /// where the cursor has not moved on.
  virtual Status next(std::byte* slot, std::uint32_t row) = 0;
  /// Whether there is no next row: the source has come to its end. The pass then ends behind the last batch that has
  /// all its rows, whatever number of steps it began with.
  virtual bool ended() const noexcept { return false; }
  /// Whether the last row that was made is padding alone.
  virtual bool padding() const noexcept { return false; }
  /// What was bad on the way to the rows since the last call, and is not in them.
  virtual std::vector<Error> take_errors() noexcept = 0;
};

/// What decides the content of an epoch, beside the description.
struct StreamOrder {
  bool shuffle = false;
  std::uint64_t seed = 0;
  std::uint32_t epoch = 0;
  Coordinate draws;  // of row 0 of all, for what rows draw; that of another has its number as the position
};

/// All streams of rows; what a part of a plan offers whose rows are made in streams. Called from any thread.
class RowStreams {
 public:
  virtual ~RowStreams() = default;
  virtual const RowDeal& deal() const noexcept = 0;
  /// @param at      where to begin, by an earlier cursor() of the same stream; the epoch's beginning where unknown.
  /// @param kept    what was read of files before, or null; it and the ledger outlive the stream.
  virtual std::unique_ptr<RowStream> open(std::uint32_t stream, const StreamOrder& order, const StreamCursor& at,
                                          KeptReads* kept, MemoryLedger& ledger) const = 0;
};

}  // namespace drapps
