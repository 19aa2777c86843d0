// Where the records are: files, parts of files, or memory, by index.
//
// A record has named parts, each of them bytes: an encoded image, and perhaps an encoded mask. Beside it stand its
// targets: columns of int64 labels and boxes. A source also remembers what was learnt of each record on the way, in 8
// bytes.
#pragma once

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
#include "drapps/data/array.h"
#include "drapps/data/picture.h"
#include "drapps/source/identity.h"
#include "drapps/storage/location.h"
#include "drapps/storage/storage.h"

namespace drapps {

/// What the parts of a record are called that is a picture, perhaps with a mask.
inline constexpr const char* kImageName = "image";
inline constexpr const char* kMaskName = "mask";

/// What is known of a record's cost, 0 where nothing is known. Saturates at 2^32 - 1.
struct Hint {
  std::uint32_t bytes = 0;
  std::uint32_t pixels = 0;  // height x width of the image
};

struct LabelColumn {
  std::string name;
  std::vector<std::int64_t> values;  // one per record
};

/// Targets of all records. Boxes are in CSR form: record i has boxes [box_offsets[i], box_offsets[i + 1]).
struct Targets {
  std::vector<LabelColumn> labels;
  std::vector<std::uint64_t> box_offsets;  // size + 1 entries, or none where records have no boxes
  std::vector<Box> boxes;                  // pixels of the whole image
  std::vector<std::int64_t> box_labels;    // as many as boxes

  bool has_boxes() const noexcept { return !box_offsets.empty(); }
  /// kInvalidArgument naming the first column that does not fit `size` records.
  Status check(std::uint64_t size) const;
};

/// The boxes of one record.
struct BoxRange {
  std::span<const Box> boxes;
  std::span<const std::int64_t> labels;
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
  /// Whether records are rows in memory, which cost less to take than to hand out one by one.
  virtual bool is_rows() const noexcept { return false; }
  /// Turns indices of records into those of their rows, in place.
  virtual void to_rows(std::span<std::uint64_t> /*indices*/) const noexcept {}
  /// Arrays whose rows are columns of a batch as they are.
  virtual std::span<const Array> arrays() const noexcept { return {}; }
  /// The pictures of all records, where they are rows that need no decoding; else null.
  virtual const PictureArray* pictures() const noexcept { return nullptr; }
  /// Of a part of record `index`; for rows of arrays, of all that the record is. Reads memory at most.
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
  /// What the storage is where that file lies; see Storage::describe(). Of kind "memory" where there is none.
  StorageIdentity storage_identity() const;
  /// Before the source is used.
  void set_storage(std::shared_ptr<Storage> storage) noexcept { storage_ = std::move(storage); }

  const Targets& targets() const noexcept { return targets_; }
  std::int64_t label(std::size_t column, std::uint64_t index) const noexcept {
    return targets_.labels[column].values[index];
  }
  /// Empty where the source has no boxes.
  BoxRange boxes(std::uint64_t index) const noexcept;

  Hint hint(std::uint64_t index) const noexcept;
  void remember_bytes(std::uint64_t index, std::uint64_t bytes) noexcept;
  void remember_pixels(std::uint64_t index, std::uint64_t pixels) noexcept;

 protected:
  /// @param parts  their names.
  Source(std::uint64_t size, std::vector<std::string> parts, Targets targets);
  /// A source of images without targets, of whose records it is known what each costs.
  explicit Source(std::uint64_t size, std::uint64_t bytes = 0, std::uint64_t pixels = 0);

 private:
  struct Memory {
    std::atomic<std::uint32_t> bytes{0};
    std::atomic<std::uint32_t> pixels{0};
  };
  std::uint64_t size_;
  std::vector<std::string> parts_;
  Targets targets_;
  std::shared_ptr<Storage> storage_ = Storage::files();
  Hint each_;  // without memory_
  std::unique_ptr<Memory[]> memory_;
};

/// Many paths in one block of bytes: the length of each plus 5 bytes.
class PathList {
 public:
  void reserve(std::size_t paths, std::size_t bytes);
  /// kInvalidArgument where the path is empty, holds a NUL or is longer than the system opens.
  Status append(std::string_view path);
  std::uint64_t size() const noexcept { return offsets_.size(); }
  /// NUL-terminated; valid until the next append.
  const char* operator[](std::uint64_t index) const noexcept {
    return bytes_.data() + bases_[index / kGroup] + offsets_[index];
  }

 private:
  // Offsets are 32 bits from the base of their group; a group of paths, each at most kMaxPath long, never outgrows
  // that.
  static constexpr std::size_t kGroup = 65536;
  std::vector<char> bytes_;
  std::vector<std::uint64_t> bases_;
  std::vector<std::uint32_t> offsets_;
};

/// The parts of pictures, with masks or without.
std::vector<std::string> picture_parts(bool masks);

/// One file per image, and optionally one per mask.
class FileSource final : public Source {
 public:
  /// kInvalidArgument where the counts differ; without masks, `masks` is empty.
  /// Files are not touched before they are read.
  static Result<std::unique_ptr<FileSource>> make(PathList images, PathList masks = {}, Targets targets = {});

  Location locate(std::uint64_t index, RecordPart part) const noexcept override;
  std::string name(std::uint64_t index, RecordPart part) const override;

 private:
  FileSource(PathList images, PathList masks, Targets targets);
  PathList images_;
  PathList masks_;
};

/// Encoded images (and masks) that are already in memory. Single images may lie in files instead.
class MemorySource final : public Source {
 public:
  using Bytes = std::span<const std::uint8_t>;
  /// @param owner  keeps the bytes alive and unchanged as long as the source.
  /// @param files  of the images whose Bytes have no data, one after the other. kInvalidArgument where their number
  ///               differs.
  static Result<std::unique_ptr<MemorySource>> make(std::vector<Bytes> images, std::shared_ptr<const void> owner,
                                                    std::vector<Bytes> masks = {}, Targets targets = {},
                                                    PathList files = {});

  Location locate(std::uint64_t index, RecordPart part) const noexcept override;
  std::string name(std::uint64_t index, RecordPart part) const override;
  std::string first_path() const override { return files_.size() == 0 ? "" : files_[0]; }

 private:
  MemorySource(std::vector<Bytes> images, std::shared_ptr<const void> owner, std::vector<Bytes> masks, Targets targets,
               PathList files);
  static constexpr std::uint32_t kNoFile = UINT32_MAX;
  std::vector<Bytes> images_;
  std::vector<Bytes> masks_;
  std::shared_ptr<const void> owner_;
  PathList files_;
  std::vector<std::uint32_t> file_of_;  // per record: its number in files_; empty where there are none
};

}  // namespace drapps
