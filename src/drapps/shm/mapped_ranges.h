// Which parts of a file this process has mapped.
//
// A file may be far larger than what is used of it, and a mapping is a reservation: it counts against the limit on
// address space, and keeps the whole file from going. So each part is mapped when it is needed first, by itself, and
// stays mapped while somebody has it.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "drapps/base/result.h"
#include "drapps/shm/file.h"

namespace drapps {

/// One mapped part of a file. Any thread may drop it.
class MappedRange {
 public:
  MappedRange(Mapping mapping, std::uint64_t begin) noexcept;

  std::uint64_t begin() const noexcept { return begin_; }  // in the file
  std::uint64_t end() const noexcept { return begin_ + mapping_.bytes(); }
  std::byte* at(std::uint64_t offset) const noexcept { return mapping_.data() + (offset - begin_); }
  /// Whether this is the process that mapped it, not a child of that.
  bool mine() const noexcept;
  /// Gives the whole pages within [begin, end) of the file back to the system. Requires that it has them.
  void punch(std::uint64_t begin, std::uint64_t end) const noexcept;

 private:
  const Mapping mapping_;
  const std::uint64_t begin_;
  const pid_t mapper_;
};

/// The whole pages within [begin, end); empty where there are none.
std::pair<std::uint64_t, std::uint64_t> whole_pages(std::uint64_t begin, std::uint64_t end) noexcept;

/// The mapped parts of one file. Thread-safe.
class MappedRanges {
 public:
  explicit MappedRanges(SharedFile file) noexcept : file_(std::move(file)) {}
  MappedRanges(const MappedRanges&) = delete;
  MappedRanges& operator=(const MappedRanges&) = delete;

  const SharedFile& file() const noexcept { return file_; }

  /// What is mapped from `begin` on, if that reaches to `end` at least.
  std::shared_ptr<const MappedRange> find(std::uint64_t begin, std::uint64_t end) const;
  /// What is mapped from `begin` on, to `end` at least; mapped where it is not. Where there is no address space left,
  /// what nobody has is unmapped first.
  Result<std::shared_ptr<const MappedRange>> map(std::uint64_t begin, std::uint64_t end);
  /// Lets go of the parts that begin within [begin, end).
  void forget(std::uint64_t begin, std::uint64_t end) noexcept;
  /// Which byte of the file lies at an address; nothing where none does.
  std::optional<std::uint64_t> offset_of(const std::byte* data) const;

 private:
  std::shared_ptr<const MappedRange> find_locked(std::uint64_t begin, std::uint64_t end) const;
  void forget_idle() noexcept;

  const SharedFile file_;
  mutable std::mutex mutex_;  // guards all below
  std::map<std::uint64_t, std::shared_ptr<const MappedRange>> by_offset_;
  std::map<const std::byte*, const MappedRange*> by_address_;
};

}  // namespace drapps
