// Writes a trace into a new file, beside a loader that must not notice.
//
//   auto writer = TraceWriter::open(path, about);
//   (*writer)->began({.policy = decider.policy().name(), .config = config, .state = decider.save()});
//   (*writer)->decision(limits, seen, decision, samples);
//   (*writer)->flush(monotonic_ns());  // now and then; close() at the end
//
// Records are gathered in memory and appended to the file as one block at a time, by whoever calls flush(). Where the
// file takes no more (a full disk, a quota, a failing device), the recording has ended: what was whole stays, and
// nothing else happens to anybody.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drapps/base/result.h"
#include "drapps/base/unique_handle.h"
#include "drapps/trace/encoder.h"

namespace drapps::trace {

/// Every member may be called from any thread, and none throws. Records are taken without waiting for the file. After
/// fork() the child's does nothing: the recording is its parent's.
class TraceWriter {
 public:
  /// Makes the file, which must not exist.
  /// @param about  JSON of who records: {"plan": …, "machine": …}.
  static Result<std::shared_ptr<TraceWriter>> open(const std::string& path, std::string_view about);
  /// Writes to a descriptor that can be appended to.
  static Result<std::shared_ptr<TraceWriter>> on(UniqueHandle file, std::string path, std::string_view about);
  /// As close().
  ~TraceWriter();
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  const std::string& path() const noexcept { return path_; }
  /// Whether it was closed, or the file takes no more.
  bool ended() const noexcept;

  /// The record that must come first.
  void began(const Beginning& beginning) noexcept;
  void decision(const Limits& limits, const Observation& seen, const Decision& decision,
                const SampleBatch& samples) noexcept;
  void swapped(std::string_view policy, std::string_view config) noexcept;
  /// The weights go into a file beside the trace, before the record does.
  void renewed(std::vector<std::byte> weights) noexcept;
  void frozen(bool frozen) noexcept;
  void pass(std::uint32_t epoch) noexcept;
  void stopped(std::string_view why) noexcept;

  /// Writes what was gathered, where that is a second old or much. The error that ends the recording is returned once.
  Status flush(std::uint64_t now_ns) noexcept;
  /// Writes what is left and ends the recording; a second call does nothing. Errors as flush().
  Status close() noexcept;

  /// Why the recording ended, for the user; empty where it did not fail, and from the second call on.
  std::string take_warning() noexcept;

 private:
  TraceWriter(UniqueHandle file, std::string path);

  bool foreign() const noexcept;
  template <class Make>
  void add(const Make& make) noexcept;
  Status write_out(bool last) noexcept;
  Status append(Bytes& block) noexcept;
  Status put_beside(const std::vector<std::vector<std::byte>>& weights) const noexcept;
  void fail(Error error) noexcept;

  const pid_t maker_;
  const std::string path_;

  std::mutex file_mutex_;  // guards the next two; taken before mutex_
  UniqueHandle file_;
  std::uint64_t whole_bytes_ = 0;

  mutable std::mutex mutex_;  // guards all below
  TraceEncoder encoder_;
  Bytes gathered_;                               // a block but for its first 8 bytes
  std::vector<std::vector<std::byte>> weights_;  // weights that gathered_ names, still to be written
  std::uint64_t written_ns_ = 0;
  bool ended_ = false;
  std::optional<Error> failure_;  // that flush() or close() is still to return
  std::string warning_;
};

}  // namespace drapps::trace
