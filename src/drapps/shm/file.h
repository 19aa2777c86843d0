// Memory that has a descriptor, so that other processes can map it too: a memfd, or a file.
//
//   auto file = SharedFile::make("drapps-items");  // in another process attach(fd)
//   DRAPPS_RETURN_IF_ERROR(file->grow(bytes));
//   auto mapping = file->map(0, bytes);
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "drapps/base/result.h"
#include "drapps/base/unique_handle.h"

namespace drapps {

inline constexpr std::uint64_t kPageBytes = 4096;

constexpr std::uint64_t round_up(std::uint64_t bytes, std::uint64_t unit) noexcept {
  return (bytes + unit - 1) / unit * unit;
}

/// A range of a SharedFile in this process's address space.
class Mapping {
 public:
  Mapping() noexcept = default;
  Mapping(std::byte* data, std::size_t bytes) noexcept : data_(data), bytes_(bytes) {}
  Mapping(Mapping&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Mapping& operator=(Mapping other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Mapping();

  std::byte* data() const noexcept { return data_; }
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// kResourceExhausted where the system has no more to give, and says which limit to raise.
class SharedFile {
 public:
  /// A new memfd: empty, and never to shrink, so that reading what was mapped never fails.
  /// @param name  that /proc/PID/maps shows.
  static Result<SharedFile> make(const char* name);
  /// A new file, this user's alone, for processes that know its path; the caller's to remove. kInvalidArgument where
  /// something is there already.
  static Result<SharedFile> create(const std::string& path);
  /// The file at `path`.
  static Result<SharedFile> open(const std::string& path);
  /// The memory or file that `fd` refers to. `fd` stays the caller's, and need not stay open.
  static Result<SharedFile> attach(int fd);

  int fd() const noexcept { return fd_.get(); }
  std::uint64_t bytes() const noexcept;
  /// New bytes are zeros, and no page is there until it is touched.
  Status grow(std::uint64_t bytes);
  /// Writable, and shared. kTruncated where the range reaches beyond the end.
  Result<Mapping> map(std::uint64_t offset, std::uint64_t bytes) const;
  /// Eight bytes of it, without a mapping; 0 where there are none.
  std::uint64_t read_word(std::uint64_t offset) const noexcept;
  /// Has the system give pages to a range now, so that writing to it cannot fail later. False where it has none left;
  /// what it gave of them may stay.
  [[nodiscard]] bool back(std::uint64_t offset, std::uint64_t bytes) const noexcept;
  /// Gives the pages of a range back to the system; they read as zeros afterwards.
  void punch(std::uint64_t offset, std::uint64_t bytes) const noexcept;
  /// Bytes that are backed by pages.
  std::uint64_t resident() const noexcept;

 private:
  explicit SharedFile(UniqueHandle fd) noexcept : fd_(std::move(fd)) {}
  static Result<SharedFile> of(UniqueHandle fd, const std::string& what, const std::string& path);

  UniqueHandle fd_;
};

}  // namespace drapps
