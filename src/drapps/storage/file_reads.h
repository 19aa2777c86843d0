// Reads of files here and now, of which those that were kept are not read again.
//
//   const FileReads reads(storage, kept);
//   DRAPPS_RETURN_IF_ERROR(reads.read(request));
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "drapps/base/result.h"
#include "drapps/storage/reader.h"
#include "drapps/storage/storage.h"

namespace drapps {

/// Is given the bytes that were read; may throw, and what it refers to outlives the reads.
using WhenRead = std::function<void(std::span<const std::uint8_t>)>;

/// What was read of files before it is wanted. Every member may be called from any thread, for different requests at
/// once.
class KeptReads {
 public:
  virtual ~KeptReads() = default;
  /// Answers a request for one part of a file, into its buffer, or says what is wrong; nothing where the part is not
  /// kept, or the file has changed.
  virtual std::optional<Status> find(ReadRequest& request) noexcept = 0;
  /// A request was read, and `waited` says whether the storage made it wait: what it has may be kept.
  virtual void keep(const ReadRequest& request) noexcept = 0;
  /// Whether a part is kept, as far as is known without a look at its file.
  virtual bool has(const Location& at) const noexcept = 0;
  /// How many of the parts that come next are worth a prefetch().
  virtual std::size_t ahead() const noexcept { return 0; }
  /// A part of a file will be wanted soon, for which find() may then wait.
  /// @param then  called with its bytes as soon as they are there, perhaps never, to announce what they tell of.
  virtual void prefetch(const Location& /*at*/, const WhenRead& /*then*/) noexcept {}
};

/// A storage, and what is kept of it. Both outlive it.
class FileReads {
 public:
  explicit(false) FileReads(Storage& storage, KeptReads* kept = nullptr) noexcept : storage_(storage), kept_(kept) {}

  /// Storage::read() for a request of one part, where it is not kept.
  Status read(ReadRequest& request) const;
  /// As KeptReads has them.
  std::size_t ahead() const noexcept { return kept_ == nullptr ? 0 : kept_->ahead(); }
  void prefetch(const Location& at, const WhenRead& then = {}) const noexcept {
    if (kept_ != nullptr) kept_->prefetch(at, then);
  }

 private:
  Storage& storage_;
  KeptReads* const kept_;
};

}  // namespace drapps
