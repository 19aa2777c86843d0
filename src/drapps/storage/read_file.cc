#include "drapps/storage/read_file.h"

#include <linux/openat2.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include "drapps/base/caught.h"
#include "drapps/base/clock.h"
#include "drapps/exec/cpu_sampler.h"
#include "drapps/storage/shard.h"

namespace drapps {
namespace {

constexpr std::uint64_t kFirstRoom = 16 << 10;

/// Room for so many bytes that a file above the limit is seen to be above it.
std::uint64_t room_at_most(const ReadLimits& limits) {
  return std::max<std::uint64_t>(limits.max_file_bytes, limits.max_file_bytes + 1);
}

Error fetch_error(ErrorCode code, std::string message, std::int64_t offset = -1) {
  return Error{.code = code, .stage = Stage::kFetch, .message = std::move(message), .offset = offset};
}

std::string kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

Error empty(const char* what) {
  return fetch_error(ErrorCode::kTruncated,
                     std::string("the ") + what + " is empty; restore it or remove it from the data set", 0);
}

Error too_large(const char* what, const std::string& bytes, const ReadLimits& limits) {
  return fetch_error(ErrorCode::kTooLarge, std::string("the ") + what + " has " + bytes + " bytes, the limit is " +
                                               std::to_string(limits.max_file_bytes) + "; raise it or remove the " +
                                               what);
}

template <class Read>
Status read_part_with(const Read& read, ReadRequest& request, RecordPart part) {
  const Location& location = request.at[part];
  if (location.path == nullptr) return answer_from_memory(request, part);
  Result<FileBytes> file = read(location, *request.into[part]);
  if (!file.ok()) return about(std::move(file).error(), request, part);
  request.bytes[part] = file->bytes;
  request.identity[part] = file->identity;
  request.state[part] = file->state;
  return ok_status();
}

/// Reads parts one after the other with `read`, a Result<FileBytes>(location, buffer).
template <class Read>
Status read_parts(ReadRequest& request, const Read& read) {
  request.begun_ns = monotonic_ns();
  static constinit thread_local CpuSampler reads;
  const std::uint64_t cpu = reads.begin();
  Status status = ok_status();
  for (RecordPart part = kFirstPart; part < request.parts && status.ok(); ++part) {
    status = catching([&] { return read_part_with(read, request, part); });
  }
  request.wall_ns = monotonic_ns() - request.begun_ns;
  request.cpu_ns = reads.end(CpuSampler::spent(cpu), request.wall_ns);
  return status;
}

/// Reads what the page cache holds. Any error sends the caller the slow way, which reports it.
Result<FileBytes> read_cached(const Location& location, Buffer& into, const ReadLimits& limits) {
  const Error would_block{.code = ErrorCode::kIo, .stage = Stage::kFetch};
  PartFile file;
  if (!file.find(location)) {
    open_how how{.flags = kOpenFlags, .mode = 0, .resolve = RESOLVE_CACHED};
    const auto fd = static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, location.path, &how, sizeof how));
    if (fd < 0) return would_block;
    file.take(fd, location);
  }
  Result<ByteRange> range = inspect(file.get(), location, limits);
  if (!range.ok()) return std::move(range).error();
  if (range->to_end) return would_block;
  DRAPPS_RETURN_IF_ERROR(into.ensure(range->bytes));
  iovec vector{.iov_base = into.data(), .iov_len = range->bytes};
  const ssize_t got = ::preadv2(file.get(), &vector, 1, static_cast<off_t>(range->offset), RWF_NOWAIT);
  if (got < 0 || static_cast<std::uint64_t>(got) != range->bytes) return would_block;
  return FileBytes{{into.data(), range->bytes}, range->identity, range->state};
}

Error changed(const FileIdentity& now, const FileIdentity& before) {
  const std::string remedy = "; leave the data set alone while it is in use, and list it anew once it has changed";
  if (now.size < before.size) {
    return fetch_error(ErrorCode::kTruncated, "the shard has " + std::to_string(now.size) + " bytes, its index says " +
                                                  std::to_string(before.size) + remedy);
  }
  return fetch_error(ErrorCode::kCorrupt, "the shard has changed since its index was made" + remedy);
}

/// Opens for reading, waiting for leases. -1 and errno on failure.
int open_to_read(const char* path) noexcept {
  int fd = ::open(path, kOpenFlags);
  while (fd < 0 && (errno == EINTR || errno == EAGAIN)) fd = ::open(path, kOpenFlagsAgain);
  return fd;
}

Result<FileBytes> read_part(const Location& location, Buffer& into, const ReadLimits& limits) {
  PartFile file;
  if (!file.find(location)) {
    const int fd = open_to_read(location.path);
    if (fd < 0) return io_error(errno, "open the file");
    file.take(fd, location);
  }
  Result<ByteRange> range = inspect(file.get(), location, limits);
  if (!range.ok()) return std::move(range).error();
  DRAPPS_RETURN_IF_ERROR(into.ensure(range->bytes));
  for (std::uint64_t done = 0; done < range->bytes;) {
    const auto from = static_cast<off_t>(range->offset + done);
    const ssize_t got = ::pread(file.get(), into.data() + done, range->bytes - done, from);
    if (got > 0) {
      done += static_cast<std::uint64_t>(got);
      if (!range->to_end || done < range->bytes) continue;
      DRAPPS_RETURN_IF_ERROR(grow_range(*range, into, limits));
      done = 0;
    } else if (got == 0 && range->to_end) {
      DRAPPS_RETURN_IF_ERROR(end_range(*range, done));
    } else if (got == 0) {
      return shrunk(done, *range);
    } else if (errno == EAGAIN) {
      (void)::fcntl(file.get(), F_SETFL, 0);
    } else if (errno != EINTR) {
      Error error = io_error(errno, "read the file");
      error.offset = static_cast<std::int64_t>(done);
      return error;
    }
  }
  return FileBytes{{into.data(), range->bytes}, range->identity, range->state};
}

}  // namespace

Error io_error(int error_number, std::string_view doing) {
  const std::string what = "cannot " + std::string(doing) + ": " + std::generic_category().message(error_number);
  switch (error_number) {
    case ENOENT:
    case ENOTDIR: return fetch_error(ErrorCode::kNotFound, what + "; restore the file or list the data set anew");
    case EACCES:
    case EPERM: return fetch_error(ErrorCode::kPermission, what + "; make it readable for this user");
    case EMFILE:
    case ENFILE:
      return fetch_error(ErrorCode::kResourceExhausted, what + "; raise the limit on open files (ulimit -n)");
    case ENOMEM: return fetch_error(ErrorCode::kResourceExhausted, what + "; the system is short of memory");
    case EAGAIN:
    case EBUSY:
    case ESTALE:
    case ETIMEDOUT:
    case ECONNRESET:
    case EHOSTDOWN:
    case EHOSTUNREACH:
    case ENETDOWN:
    case ENETUNREACH: return fetch_error(ErrorCode::kUnavailable, what);
    case ELOOP:
      return fetch_error(ErrorCode::kNotFound,
                         what + ": a loop of symbolic links; remove the link, or list the data set anew without it");
    case ENAMETOOLONG: return fetch_error(ErrorCode::kNotFound, what + "; list the data set anew, by a shorter path");
    case ENXIO: return fetch_error(ErrorCode::kUnsupported, what + "; only regular files are read");
    default: return fetch_error(ErrorCode::kIo, what + "; check the storage");
  }
}

Error shrunk(std::uint64_t done, const ByteRange& range) {
  return fetch_error(ErrorCode::kTruncated,
                     "the file ended while it was read, it had " + std::to_string(range.bytes) +
                         " bytes when it was opened; leave the data set alone while it is in use",
                     static_cast<std::int64_t>(done));
}

Result<ByteRange> inspect(int fd, const Location& location, const ReadLimits& limits) {
  struct stat status{};
  if (::fstat(fd, &status) != 0) return io_error(errno, "read the file's attributes");
  if (!S_ISREG(status.st_mode)) {
    return fetch_error(ErrorCode::kUnsupported, "this is " + kind_of(status.st_mode) + "; only regular files are read");
  }
  const FileIdentity file = identity_of(status);
  ByteRange range{.offset = 0, .bytes = file.size, .identity = file, .state = state_of(status)};
  const char* what = "file";
  if (location.shard != nullptr) {
    if (file != location.shard->identity()) return changed(file, location.shard->identity());
    range = {.offset = location.offset,
             .bytes = location.length,
             .identity = location.shard->record_identity(location.offset, location.length),
             .state = range.state};
    what = "record";
  }
  if (range.bytes == 0 && location.shard == nullptr) {
    // A file without a size has no attributes that tell whether it is what it was.
    range.state = kUnknownState;
    range.bytes = std::min(kFirstRoom, room_at_most(limits));
    range.to_end = true;
    return range;
  }
  if (range.bytes == 0) return empty(what);
  if (range.bytes > limits.max_file_bytes) return too_large(what, std::to_string(range.bytes), limits);
  return range;
}

Status end_range(ByteRange& range, std::uint64_t done) {
  if (done == 0) return empty("file");
  range.bytes = range.identity.size = done;
  range.to_end = false;
  return ok_status();
}

Status grow_range(ByteRange& range, Buffer& into, const ReadLimits& limits) {
  if (range.bytes > limits.max_file_bytes) return too_large("file", "more", limits);
  range.bytes = std::min(2 * range.bytes, room_at_most(limits));
  return into.ensure(range.bytes);
}

bool PartFile::find(const Location& location) noexcept {
  fd_ = location.shard != nullptr ? location.shard->descriptor() : -1;
  return fd_ >= 0;
}

void PartFile::take(int fd, const Location& location) noexcept {
  fd_ = fd;
  if (location.shard == nullptr || !location.shard->keep(fd)) own_.reset(fd);
}

UniqueHandle PartFile::release() noexcept {
  fd_ = -1;
  return std::move(own_);
}

Error about(Error error, ReadRequest& request, RecordPart part) {
  error.stage = Stage::kFetch;
  request.failed = part;
  return error;
}

Status answer_from_memory(ReadRequest& request, RecordPart part) {
  const std::span<const std::uint8_t> bytes = request.at[part].bytes;
  if (bytes.empty()) {
    return about(fetch_error(ErrorCode::kTruncated, "the record is empty; remove it from the data set", 0), request,
                 part);
  }
  request.bytes[part] = bytes;
  request.identity[part] = {.size = bytes.size()};
  request.state[part] = kUnknownState;
  return ok_status();
}

bool complete_from_memory(ReadRequest& request, ReadSink& sink) {
  for (RecordPart part = kFirstPart; part < request.parts; ++part) {
    if (request.at[part].path != nullptr) return false;
  }
  request.begun_ns = request.wall_ns = request.cpu_ns = 0;
  Status status = ok_status();
  for (RecordPart part = kFirstPart; part < request.parts && status.ok(); ++part) {
    status = catching([&] { return answer_from_memory(request, part); });
  }
  sink.read_done(request, std::move(status));
  return true;
}

Status cancelled() { return fetch_error(ErrorCode::kCancelled, "the reader was closed"); }

void cancel(ReadRequest& request, ReadSink& sink) {
  request.begun_ns = request.wall_ns = request.cpu_ns = 0;
  sink.read_done(request, catching([] { return cancelled(); }));
}

Result<FileBytes> read_file(const char* path, Buffer& into, const ReadLimits& limits) {
  return read_part({.path = path, .bytes = {}}, into, limits);
}

Status read_record(ReadRequest& request, const ReadLimits& limits) {
  return read_parts(request, [&](const Location& at, Buffer& into) { return read_part(at, into, limits); });
}

bool try_read_record(ReadRequest& request, const ReadLimits& limits) {
  return read_parts(request, [&](const Location& at, Buffer& into) { return read_cached(at, into, limits); }).ok();
}

}  // namespace drapps
