#include "drapps/decode/jpeg/index_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "drapps/base/unique_handle.h"
#include "drapps/decode/crc32.h"

namespace drapps::jpeg {
namespace {

constexpr std::array<std::uint8_t, 8> kMagic = {0x89, 'D', 'R', 'I', 'X', '\r', '\n', '\n'};
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kChecksumBytes = 4;
constexpr const char* kRemedy = "; delete it, the index is learned anew while training";

struct CloseFile {
  void operator()(std::FILE* file) const noexcept { (void)std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

Error error_at(ErrorCode code, std::string message, std::uint64_t offset) {
  return Error{.code = code, .message = std::move(message) + kRemedy, .offset = static_cast<std::int64_t>(offset)};
}

Error system_error(const std::string& path, const std::string& doing, int number = errno) {
  const std::string what = "cannot " + doing + ": " + std::generic_category().message(number);
  const auto error = [&](ErrorCode code, const char* remedy) {
    return Error{.code = code, .message = what + remedy, .path = path};
  };
  switch (number) {
    case ENOENT:
    case ENOTDIR: return error(ErrorCode::kNotFound, "; create the folder, or name a file that exists");
    case ELOOP: return error(ErrorCode::kNotFound, ": a loop of symbolic links; choose another path");
    case ENAMETOOLONG: return error(ErrorCode::kNotFound, "; choose a shorter path");
    case EACCES:
    case EPERM:
    case EROFS: return error(ErrorCode::kPermission, "; give this user access, or choose another path");
    case ENOSPC:
    case EDQUOT:
    case EFBIG: return error(ErrorCode::kResourceExhausted, "; free some space, or choose another path");
    case EMFILE:
    case ENFILE: return error(ErrorCode::kResourceExhausted, "; raise the limit on open files (ulimit -n)");
    default: return error(ErrorCode::kIo, "; check the storage");
  }
}

template <class Number>
Number get(const std::uint8_t* from) noexcept {
  std::make_unsigned_t<Number> value = 0;
  for (std::size_t i = sizeof(Number); i-- > 0;) {
    value = static_cast<std::make_unsigned_t<Number>>(std::uint64_t{value} << 8 | from[i]);
  }
  return static_cast<Number>(value);
}

template <class Number>
void put(std::uint8_t* to, Number number) noexcept {
  const auto value = static_cast<std::uint64_t>(number);
  for (std::size_t i = 0; i < sizeof(Number); ++i) to[i] = static_cast<std::uint8_t>(value >> 8 * i);
}

void put_checksum(std::uint8_t* at, std::span<const std::uint8_t> bytes) noexcept { put(at, crc32(bytes)); }

// --- Writing ---

using Header = std::array<std::uint8_t, kIndexHeaderBytes>;

Header make_header(std::uint64_t records, std::uint64_t bytes) {
  Header header{};
  std::copy(kMagic.begin(), kMagic.end(), header.begin());
  put(&header[12], kVersion);
  put(&header[16], records);
  put(&header[24], bytes);
  put_checksum(&header[8], std::span(header).subspan(12));
  return header;
}

void make_record(const IndexKey& key, const ScanIndex& index, std::vector<std::uint8_t>& bytes) {
  bytes.resize(kIndexRecordBytes + index.entries.size() * sizeof(IndexEntry));
  put(&bytes[4], static_cast<std::uint32_t>(index.entries.size()));
  put(&bytes[8], key.record);
  put(&bytes[16], key.identity.size);
  put(&bytes[24], key.identity.mtime_ns);
  put(&bytes[32], key.identity.inode);
  put(&bytes[40], index.shape.mcus_across);
  put(&bytes[44], index.shape.mcus_down);
  put(&bytes[48], index.shape.group);
  put(&bytes[52], index.shape.headers);
  put(&bytes[56], index.shape.file_bytes);
  std::uint8_t* to = bytes.data() + kIndexRecordBytes;
  for (const IndexEntry& entry : index.entries) {
    put(to, entry.bit_high);
    put(to + 2, entry.bit_low);
    for (std::size_t c = 0; c < 3; ++c) put(to + 4 + 2 * c, entry.dc[c]);
    to += sizeof(IndexEntry);
  }
  put_checksum(bytes.data(), std::span(bytes).subspan(kChecksumBytes));
}

/// Whether an index file stands at `path`; an error where anything else does, or where that cannot be told.
Result<bool> is_ours(const std::string& path) {
  const Error taken{.code = ErrorCode::kInvalidArgument,
                    .message = "this is no index file and is left alone; choose another path",
                    .path = path};
  const UniqueHandle file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW));
  if (!file) {
    if (errno == ENOENT) return false;
    if (errno == ELOOP || errno == ENXIO) return taken;
    return system_error(path, "open the file that is there");
  }
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return system_error(path, "read the file's attributes");
  std::array<std::uint8_t, kMagic.size()> begin{};
  const bool whole = S_ISREG(status.st_mode) &&
                     ::pread(file.get(), begin.data(), begin.size(), 0) == static_cast<ssize_t>(begin.size());
  if (!whole || begin != kMagic) return taken;
  return true;
}

/// A file beside its final place, which it takes in one step; else it disappears.
class NewFile {
 public:
  explicit NewFile(const std::string& path) : path_(path) {}
  ~NewFile() {
    if (file_ != nullptr) (void)::unlink(name_.c_str());
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  Status open() {
    // A name may be taken: by another thread, or by what a process that was killed has left.
    for (int attempt = 0; attempt < 1000; ++attempt) {
      name_ = path_ + "." + std::to_string(::getpid()) + "-" + std::to_string(attempt) + ".tmp";
      UniqueHandle handle(::open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
      if (!handle) {
        if (errno == EEXIST) continue;
        return system_error(path_, "create a file beside it");
      }
      file_.reset(::fdopen(handle.get(), "wb"));
      if (file_ != nullptr) {
        (void)handle.release();
        return ok_status();
      }
      const int number = errno;
      (void)::unlink(name_.c_str());
      return system_error(path_, "write", number);
    }
    return system_error(path_, "create a file beside it", EEXIST);
  }

  Status write(std::span<const std::uint8_t> bytes) {
    if (std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) != bytes.size()) return system_error(path_, "write");
    return ok_status();
  }

  Status rewind() {
    if (std::fseek(file_.get(), 0, SEEK_SET) != 0) return system_error(path_, "write");
    return ok_status();
  }

  Status finish(bool replace) {
    if (std::fflush(file_.get()) != 0 || ::fsync(::fileno(file_.get())) != 0) return system_error(path_, "write");
    int done = replace ? ::rename(name_.c_str(), path_.c_str())
                       : ::renameat2(AT_FDCWD, name_.c_str(), AT_FDCWD, path_.c_str(), RENAME_NOREPLACE);
    // Not every file system can refuse to replace.
    if (done != 0 && !replace && (errno == EINVAL || errno == ENOSYS)) done = ::rename(name_.c_str(), path_.c_str());
    if (done != 0) return system_error(path_, "put the new file in its place");
    file_.reset();
    return ok_status();
  }

 private:
  const std::string& path_;
  std::string name_;
  File file_;
};

// --- Reading ---

/// Bytes from first to last.
class Input {
 public:
  virtual ~Input() = default;
  /// Fills `to` whole, or returns false: there is less.
  virtual bool read(std::span<std::uint8_t> to) = 0;
};

class FileInput final : public Input {
 public:
  explicit FileInput(std::FILE* file) : file_(file) {}
  bool read(std::span<std::uint8_t> to) override { return std::fread(to.data(), 1, to.size(), file_) == to.size(); }

 private:
  std::FILE* file_;
};

class SpanInput final : public Input {
 public:
  explicit SpanInput(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  bool read(std::span<std::uint8_t> to) override {
    if (to.size() > bytes_.size()) return false;
    std::copy_n(bytes_.begin(), to.size(), to.begin());
    bytes_ = bytes_.subspan(to.size());
    return true;
  }

 private:
  std::span<const std::uint8_t> bytes_;
};

class IndexFileReader {
 public:
  IndexFileReader(Input& input, std::uint64_t size, IndexStore& store) : input_(input), size_(size), store_(store) {}

  Result<std::uint64_t> run() {
    Header header{};
    const auto have = static_cast<std::size_t>(std::min<std::uint64_t>(size_, header.size()));
    if (!input_.read(std::span(header).first(have))) return ended();
    if (have < kMagic.size() || !std::equal(kMagic.begin(), kMagic.end(), header.begin())) {
      return Error{.code = ErrorCode::kUnsupported, .message = "this is no index file; choose another path"};
    }
    if (have < header.size()) return ended();
    const auto version = get<std::uint32_t>(&header[12]);
    if (version > kVersion) {
      return Error{.code = ErrorCode::kUnsupported,
                   .message = "an index file of version " + std::to_string(version) + ", while this drapps reads " +
                              std::to_string(kVersion) + "; upgrade drapps, or choose another path",
                   .offset = 12};
    }
    if (get<std::uint32_t>(&header[8]) != crc32(std::span(header).subspan(12)) || version != kVersion) {
      return error_at(ErrorCode::kCorrupt, "the index file has a damaged header", 8);
    }
    const auto records = get<std::uint64_t>(&header[16]);
    const auto bytes = get<std::uint64_t>(&header[24]);
    if (size_ < bytes) return ended();
    if (size_ > bytes) return error_at(ErrorCode::kCorrupt, "the index file goes on behind its end", bytes);
    at_ = header.size();
    for (std::uint64_t i = 0; i < records; ++i) DRAPPS_RETURN_IF_ERROR(record(i == 0));
    if (at_ != size_) return error_at(ErrorCode::kCorrupt, "the index file holds more than its records", at_);
    return records;
  }

 private:
  Error ended() const { return error_at(ErrorCode::kTruncated, "the index file ends too early", size_); }
  Error corrupt(const char* what) const { return error_at(ErrorCode::kCorrupt, what, at_); }

  Status record(bool first) {
    if (size_ - at_ < kIndexRecordBytes) return corrupt("the index file holds fewer records than it says");
    bytes_.resize(kIndexRecordBytes);
    if (!input_.read(bytes_)) return ended();
    const auto count = get<std::uint32_t>(&bytes_[4]);
    const IndexKey key{
        .record = get<std::uint64_t>(&bytes_[8]),
        .identity = {get<std::uint64_t>(&bytes_[16]), get<std::int64_t>(&bytes_[24]), get<std::uint64_t>(&bytes_[32])}};
    const IndexShape shape{.mcus_across = get<std::uint32_t>(&bytes_[40]),
                           .mcus_down = get<std::uint32_t>(&bytes_[44]),
                           .group = get<std::uint32_t>(&bytes_[48]),
                           .headers = get<std::uint32_t>(&bytes_[52]),
                           .file_bytes = get<std::uint64_t>(&bytes_[56])};
    // Before the checksum can be taken, the count must be small enough to allocate and to be in the file.
    if (!plausible(shape, count) || count > (size_ - at_ - kIndexRecordBytes) / sizeof(IndexEntry)) {
      return corrupt("the index file holds a record of impossible size");
    }
    bytes_.resize(kIndexRecordBytes + count * sizeof(IndexEntry));
    if (!input_.read(std::span(bytes_).subspan(kIndexRecordBytes))) return ended();
    if (get<std::uint32_t>(bytes_.data()) != crc32(std::span(bytes_).subspan(kChecksumBytes))) {
      return corrupt("the index file holds a record with a wrong checksum");
    }
    if (!first && key.record <= last_) return corrupt("the index file holds its records out of order");
    if (!entries(shape, count)) return corrupt("the index file holds positions that no scan has");
    store_.offer(key, shape, entries_);
    last_ = key.record;
    at_ += bytes_.size();
    return ok_status();
  }

  /// The entries of the record in bytes_; false where they go backwards or beyond the picture's file.
  bool entries(const IndexShape& shape, std::size_t count) {
    entries_.resize(count);
    const std::uint8_t* from = bytes_.data() + kIndexRecordBytes;
    std::uint32_t bit = 0;
    for (IndexEntry& entry : entries_) {
      entry.bit_high = get<std::uint16_t>(from);
      entry.bit_low = get<std::uint16_t>(from + 2);
      for (std::size_t c = 0; c < 3; ++c) entry.dc[c] = get<std::int16_t>(from + 4 + 2 * c);
      if (entry.bit() < bit) return false;
      bit = entry.bit();
      from += sizeof(IndexEntry);
    }
    return bit / 8 <= shape.file_bytes;
  }

  Input& input_;
  std::uint64_t size_;
  IndexStore& store_;
  std::uint64_t at_ = 0;    // where the next record begins
  std::uint64_t last_ = 0;  // record
  std::vector<std::uint8_t> bytes_;
  std::vector<IndexEntry> entries_;
};

}  // namespace

Result<std::uint64_t> save_indexes(const std::string& path, const MemoryIndexStore& store) {
  const Result<bool> replace = is_ours(path);
  if (!replace.ok()) return replace.error();
  NewFile file(path);
  DRAPPS_RETURN_IF_ERROR(file.open());
  std::uint64_t records = 0, bytes = kIndexHeaderBytes;
  DRAPPS_RETURN_IF_ERROR(file.write(Header{}));
  IndexKey key;
  ScanIndex index;
  std::vector<std::uint8_t> record;
  for (std::uint64_t i = 0; i < store.records(); ++i) {
    if (!store.copy(i, key, index)) continue;
    make_record(key, index, record);
    DRAPPS_RETURN_IF_ERROR(file.write(record));
    ++records;
    bytes += record.size();
  }
  DRAPPS_RETURN_IF_ERROR(file.rewind());
  DRAPPS_RETURN_IF_ERROR(file.write(make_header(records, bytes)));
  DRAPPS_RETURN_IF_ERROR(file.finish(*replace));
  return records;
}

Result<std::uint64_t> load_indexes(const std::string& path, IndexStore& store) {
  UniqueHandle handle(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!handle) return system_error(path, "open the file");
  struct stat status{};
  if (::fstat(handle.get(), &status) != 0) return system_error(path, "read the file's attributes");
  if (!S_ISREG(status.st_mode)) {
    return Error{
        .code = ErrorCode::kUnsupported, .message = "this is no index file; choose another path", .path = path};
  }
  const File file(::fdopen(handle.get(), "rb"));
  if (file == nullptr) return system_error(path, "read the file");
  (void)handle.release();
  FileInput input(file.get());
  Result<std::uint64_t> records = IndexFileReader(input, static_cast<std::uint64_t>(status.st_size), store).run();
  if (records.ok()) return records;
  if (std::ferror(file.get()) != 0) return system_error(path, "read the file", EIO);
  records.error().path = path;
  return records;
}

Result<std::uint64_t> parse_indexes(std::span<const std::uint8_t> bytes, IndexStore& store) {
  SpanInput input(bytes);
  return IndexFileReader(input, bytes.size(), store).run();
}

}  // namespace drapps::jpeg
