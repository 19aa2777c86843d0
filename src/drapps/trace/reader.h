// Reads a trace, a block at a time: what a file takes in memory does not grow with its length.
//
//   auto reader = TraceReader::open(path);
//   for (auto entry = (*reader)->next(); entry.ok() && *entry; entry = (*reader)->next()) take(**entry);
//   const std::string& note = (*reader)->note();
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "drapps/base/result.h"
#include "drapps/trace/decoder.h"

namespace drapps::trace {

/// Not thread-safe.
class TraceReader {
 public:
  /// Gives the next bytes of what is read, as many as asked for while there are any.
  using Input = std::function<Result<std::size_t>(std::span<std::uint8_t>)>;

  /// kUnsupported for another version's trace, kCorrupt and kTruncated for what has no whole header.
  static Result<std::unique_ptr<TraceReader>> open(const std::string& path);
  static Result<std::unique_ptr<TraceReader>> of(Input input);

  const TraceHeader& header() const noexcept { return header_; }
  /// JSON of who recorded.
  const std::string& about() const noexcept { return about_; }

  /// The next entry, or none at the end. A file that was cut off or damaged ends with its last whole block; note() says
  /// so. kCorrupt for a whole block that makes no sense.
  Result<std::optional<Entry>> next();

  /// What there is to say of how the trace ended; empty where it was closed. Requires that next() came to the end.
  const std::string& note() const noexcept { return note_; }

 private:
  struct Record {
    Tag tag;
    std::span<const std::uint8_t> content;
  };

  explicit TraceReader(Input input) noexcept : input_(std::move(input)) {}
  Status read_header();
  Result<std::size_t> fill(Bytes& into, std::size_t size);
  Result<bool> next_block();
  Result<std::optional<Record>> next_record();
  Error at(Error error) const;

  const Input input_;
  TraceHeader header_;
  std::string about_;
  std::optional<TraceDecoder> decoder_;
  Bytes block_;
  ByteCursor left_{{}};       // of block_
  std::uint64_t offset_ = 0;  // behind block_
  bool over_ = false;
  bool ended_ = false;
  std::string note_;
};

}  // namespace drapps::trace
