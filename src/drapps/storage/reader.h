// Getting the bytes of records, many at a time. What a record is, and what it is called, is the source's business: here
// it is a few places where bytes lie.
//
//   ReadRequest request{.at = {source.locate(index, kFirstPart)}, .parts = 1, .into = {&buffer}};
//   auto reader = make_reader({.depth = 8}, sink);
//   (*reader)->submit(request);  // sink.read_done(request, status) follows
//
// The order of an epoch is known, so a pipeline submits requests ahead of need and the reader keeps `depth` of them in
// progress. Two readers do the same: threads that block in pread, and one thread with an io_uring. Which one, and which
// depth, changes when bytes arrive, never which bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>

#include "drapps/base/result.h"
#include "drapps/data/buffer.h"
#include "drapps/storage/file_identity.h"
#include "drapps/storage/location.h"

namespace drapps {

/// One record to read. Owned by the caller, who leaves it alone from submit() until read_done(), and may then use it
/// again: a request costs no allocation.
struct ReadRequest {
  // Asked.
  std::array<Location, kMaxParts> at;
  std::uint8_t parts = 0;                 // of the record: so many of `at` are asked for
  std::array<Buffer*, kMaxParts> into{};  // one per part; grown as needed. Not used for parts in memory
  std::uint64_t tag = 0;                  // the caller's

  // Answered, where it succeeded, for each part of the record.
  std::array<std::span<const std::uint8_t>, kMaxParts> bytes;  // in `into`, or in the source's memory
  std::array<FileIdentity, kMaxParts> identity;
  std::array<std::uint64_t, kMaxParts> state{};  // of the file, as state_of() tells; of memory kUnknownState
  // Answered in any case.
  RecordPart failed = kFirstPart;  // what an error is about
  std::uint64_t begun_ns = 0;      // when its I/O began, of the last try; CLOCK_MONOTONIC, 0 where none did
  std::uint64_t wall_ns = 0;       // from the start of its I/O to its end; waiting for its turn is not in it
  std::uint64_t cpu_ns = 0;        // of the I/O thread
  bool waited = false;             // the caller's note: storage made it wait

  // The reader's, while it holds the request.
  ReadRequest* next = nullptr;
  std::uint32_t tries = 0;           // tries that were refused; kept where the request ended in an error
  std::uint64_t tried_since_ns = 0;  // when the first refused try began
  // A storage's reader notes, and leaves for the caller, when it got the request; CLOCK_MONOTONIC.
  std::uint64_t first_try_ns = 0;

  /// Bytes of all parts together, where the request succeeded.
  std::uint64_t bytes_read() const noexcept {
    return std::accumulate(bytes.begin(), bytes.begin() + parts, std::uint64_t{0},
                           [](std::uint64_t sum, const auto& part) { return sum + part.size(); });
  }
};

/// Told about finished requests.
class ReadSink {
 public:
  virtual ~ReadSink() = default;
  /// `request` is the caller's again. Called exactly once per request, on an I/O thread or, for records in memory,
  /// inside submit(); must not block and not call back into the reader except submit(). A failed read carries an Error
  /// with stage kFetch and, where it applies, offset; it names no file.
  virtual void read_done(ReadRequest& request, Status status) noexcept = 0;
};

struct ReadLimits {
  std::size_t max_file_bytes = std::size_t{1} << 30;  // of a record's part; kTooLarge above
};

enum class ReaderKind : std::uint8_t { kAuto, kPread, kUring };

struct ReaderOptions {
  ReaderKind kind =
      ReaderKind::kAuto;  // kAuto: DRAPPS_IO (pread or uring) where set, else io_uring if the kernel lets us
  int depth = 4;
  ReadLimits limits;
};

inline constexpr int kMaxReadDepth = 256;

/// Reads records. submit() and set_depth() may be called from any thread, at any moment. The destructor
/// finishes what is in progress, completes what still waits as kCancelled, and returns after the last read_done().
class Reader {
 public:
  virtual ~Reader() = default;

  /// Queues a request; first come, first served. Records in memory complete at once.
  virtual void submit(ReadRequest& request) = 0;
  /// How many records are read at once, clamped to [1, kMaxReadDepth]. Less takes effect as reads finish.
  virtual void set_depth(int depth) = 0;
  /// kPread or kUring.
  virtual ReaderKind kind() const noexcept = 0;
};

/// @param sink  outlives the reader.
/// kInvalidArgument for a DRAPPS_IO that names no reader; kUnsupported where kUring is asked for by name and the kernel
/// refuses; kResourceExhausted without threads.
Result<std::unique_ptr<Reader>> make_reader(const ReaderOptions& options, ReadSink& sink);

/// Reads a record here and now, blocking.
Status read_record(ReadRequest& request, const ReadLimits& limits = {});

/// Reads a record here and now if nothing has to wait for storage: a warm page cache is read this way without a change
/// of thread. False when it would block or fails; nothing is then answered, and submit() reads it or says what is
/// wrong.
bool try_read_record(ReadRequest& request, const ReadLimits& limits = {});

/// Bytes of one whole file.
struct FileBytes {
  std::span<const std::uint8_t> bytes;  // in the buffer given
  FileIdentity identity;
  std::uint64_t state = kUnknownState;  // of the file
};
Result<FileBytes> read_file(const char* path, Buffer& into, const ReadLimits& limits = {});

}  // namespace drapps
