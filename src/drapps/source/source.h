// Where the records are: files, parts of files, or memory, by index.
//
//   request.at[kFirstPart] = source.locate(index, kFirstPart);
//   DRAPPS_RETURN_IF_ERROR(source.storage().read(request));
//   source.remember_bytes(index, request.bytes_read());
//
// A record has named parts, each of them bytes. Beside it stand its targets: columns of int64 labels and boxes. A
// source also remembers what each record costs, in 8 bytes.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "drapps/base/result.h"
#include "drapps/source/identity.h"
#include "drapps/source/targets.h"
#include "drapps/storage/location.h"
#include "drapps/storage/storage.h"

namespace drapps {

class ArraySource;  // array.h

/// What is known of a record's cost, 0 where nothing is known. Saturates at 2^32 - 1.
struct Hint {
  std::uint32_t bytes = 0;
  std::uint32_t work = 0;  // in units that its modality counts

  static std::uint32_t saturated(std::uint64_t value) noexcept {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(value, UINT32_MAX));
  }
};

/// Records by index. Everything but construction may be called from any thread; nothing locks.
class Source {
 public:
  virtual ~Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  std::uint64_t size() const noexcept { return size_; }
  /// The names of a record's parts, 1 to kMaxParts.
  std::span<const std::string> parts() const noexcept { return parts_; }
  std::optional<RecordPart> part_named(std::string_view name) const noexcept;

  /// Where a part of record `index` lies. Valid as long as the source.
  virtual Location locate(std::uint64_t index, RecordPart part) const noexcept = 0;
  /// Itself where records are rows of arrays in memory, which cost less to take than to hand out one by one; else null.
  virtual const ArraySource* rows() const noexcept { return nullptr; }
  /// The identity of a part of record `index`; for rows of arrays, of all that the record is. Reads memory at most.
  virtual RecordIdentity identity(std::uint64_t index, RecordPart part) const noexcept {
    return identity_of(locate(index, part));
  }
  /// For messages: the path (with its range of bytes, in a shard), or "memory[i]" and "memory[i].mask".
  virtual std::string name(std::uint64_t index, RecordPart part = kFirstPart) const = 0;

  /// Where the files that locate() names lie: this machine's, unless another storage was set.
  Storage& storage() const noexcept { return *storage_; }
  std::shared_ptr<Storage> shared_storage() const noexcept { return storage_; }
  /// The file of the first record that is in one; empty where all records are in memory.
  virtual std::string first_path() const;
  /// What the storage is where the file of first_path() lies; see Storage::describe(). Of kind "memory" where there is
  /// no file.
  StorageIdentity storage_identity() const;
  /// Sets the storage, before the source is used.
  void set_storage(std::shared_ptr<Storage> storage) noexcept { storage_ = std::move(storage); }

  const Targets& targets() const noexcept { return targets_; }
  std::int64_t label(std::size_t column, std::uint64_t index) const noexcept {
    return targets_.labels[column].values[index];
  }
  /// Empty where the source has no boxes.
  BoxRange boxes(std::uint64_t index) const noexcept;

  Hint hint(std::uint64_t index) const noexcept;
  void remember_bytes(std::uint64_t index, std::uint64_t bytes) noexcept;
  void remember_work(std::uint64_t index, std::uint64_t units) noexcept;

 protected:
  /// @param parts  their names.
  Source(std::uint64_t size, std::vector<std::string> parts, Targets targets);
  /// A source without targets, and of records of which each costs the same.
  Source(std::uint64_t size, const Hint& each, std::vector<std::string> parts);

 private:
  struct HintMemory {
    std::atomic<std::uint32_t> bytes{0};
    std::atomic<std::uint32_t> work{0};
  };
  std::uint64_t size_;
  std::vector<std::string> parts_;
  Targets targets_;
  std::shared_ptr<Storage> storage_ = Storage::files();
  Hint each_;  // what each record costs, where there is no memory_
  std::unique_ptr<HintMemory[]> memory_;
};

}  // namespace drapps
