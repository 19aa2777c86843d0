// Reads of files here and now, of which those that were kept are not read again.
//
//   const FileReads reads(storage, kept);
//   DRAPPS_RETURN_IF_ERROR(reads.read(request));
#pragma once

#include "drapps/base/result.h"
#include "drapps/storage/reader.h"
#include "drapps/storage/storage.h"

namespace drapps {

/// What was read of files before. Both members may be called from any thread, for different requests at once.
class KeptReads {
 public:
  virtual ~KeptReads() = default;
  /// Answers a request for one part of a file, into its buffer; false where it is not kept, or the file has changed.
  virtual bool find(ReadRequest& request) noexcept = 0;
  /// A request was read, and `waited` says whether the storage made it wait: what it has may be kept.
  virtual void keep(const ReadRequest& request) noexcept = 0;
};

/// A storage, and what is kept of it. Both outlive it.
class FileReads {
 public:
  explicit(false) FileReads(Storage& storage, KeptReads* kept = nullptr) noexcept : storage_(storage), kept_(kept) {}

  /// Storage::read() for a request of one part, where it is not kept.
  Status read(ReadRequest& request) const;

 private:
  Storage& storage_;
  KeptReads* const kept_;
};

}  // namespace drapps
