// Small pieces of a large file, by offset: what listing the records of a shard reads.
//
//   auto file = FileWindow::open(path.c_str());
//   auto head = file->read(0, 512);
//   DRAPPS_RETURN_IF_ERROR(file->check_unchanged());  // behind the last read()
#pragma once

#include <cstdint>
#include <span>

#include "drapps/base/result.h"
#include "drapps/base/unique_handle.h"
#include "drapps/data/buffer.h"
#include "drapps/storage/file_identity.h"

namespace drapps {

/// Reads through a window of some pages, so that neighbouring pieces cost one system call. One thread.
class FileWindow {
 public:
  /// What read() gives at most.
  static constexpr std::uint64_t kMaxPiece = std::uint64_t{1} << 20;

  /// kNotFound, kPermission, kIo, or kUnsupported for what is not a regular file.
  static Result<FileWindow> open(const char* path);
  /// A window over bytes in memory, which outlive it.
  explicit FileWindow(std::span<const std::uint8_t> bytes) noexcept;

  /// The identity of the open file, as it was when it was opened.
  const FileIdentity& identity() const noexcept { return identity_; }
  std::uint64_t size() const noexcept { return identity_.size; }

  /// The `count` bytes from `offset` on, valid until the next call. kTruncated at `offset` where the file ends before,
  /// kTooLarge above kMaxPiece.
  Result<std::span<const std::uint8_t>> read(std::uint64_t offset, std::uint64_t count);

  /// kCorrupt where the file was written to since it was opened.
  Status check_unchanged() const;

 private:
  FileWindow() noexcept = default;

  UniqueHandle file_;
  FileIdentity identity_;
  Buffer buffer_{MemoryLedger::unlimited()};
  std::span<const std::uint8_t> held_;  // of the file, from first_ on
  std::uint64_t first_ = 0;
};

}  // namespace drapps
