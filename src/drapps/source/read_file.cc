#include "drapps/source/read_file.h"

#include <linux/openat2.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include "drapps/base/clock.h"
#include "drapps/base/unique_handle.h"

namespace drapps {
namespace {

Error fetch_error(ErrorCode code, std::string message, std::int64_t offset = -1) {
  return Error{.code = code, .stage = Stage::kFetch, .message = std::move(message), .offset = offset};
}

std::string kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

std::size_t at(Part part) { return static_cast<std::size_t>(part); }

/// Reads parts one after the other with `read`, a Result<FileBytes>(path, buffer).
template <class Read>
Status read_parts(ReadRequest& request, const Read& read) {
  const std::uint64_t wall = monotonic_ns();
  const std::uint64_t cpu = thread_cpu_ns();
  Status status = ok_status();
  for (std::size_t i = 0; i < parts_of(request) && status.ok(); ++i) {
    const auto part = static_cast<Part>(i);
    const char* const path = request.source->locate(request.index, part).path;
    if (path == nullptr) {
      status = answer_from_memory(request, part);
      continue;
    }
    Result<FileBytes> file = read(path, *request.into[i]);
    if (file.ok()) {
      request.bytes[i] = file->bytes;
      request.identity[i] = file->identity;
    } else {
      status = about(std::move(file).error(), request, part);
    }
  }
  request.wall_ns = monotonic_ns() - wall;
  request.cpu_ns = thread_cpu_ns() - cpu;
  if (status.ok()) remember(request);
  return status;
}

/// Reads what the page cache holds. Any error sends the caller the slow way, which reports it.
Result<FileBytes> read_cached(const char* path, Buffer& into, const ReadLimits& limits) {
  const Error would_block{.code = ErrorCode::kIo, .stage = Stage::kFetch};
  open_how how{.flags = kOpenFlags, .mode = 0, .resolve = RESOLVE_CACHED};
  const UniqueHandle file(static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how)));
  if (!file) return would_block;
  Result<FileIdentity> identity = inspect(file.get(), limits);
  if (!identity.ok()) return std::move(identity).error();
  DRAPPS_RETURN_IF_ERROR(into.ensure(identity->size));
  iovec vector{.iov_base = into.data(), .iov_len = identity->size};
  const ssize_t got = ::preadv2(file.get(), &vector, 1, 0, RWF_NOWAIT);
  if (got < 0 || static_cast<std::uint64_t>(got) != identity->size) return would_block;
  return FileBytes{{into.data(), identity->size}, *identity};
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
    case ENXIO: return fetch_error(ErrorCode::kUnsupported, what + "; only regular files are read");
    default: return fetch_error(ErrorCode::kIo, what + "; check the storage");
  }
}

Error shrunk(std::uint64_t offset, std::uint64_t size) {
  return fetch_error(ErrorCode::kTruncated,
                     "the file ended while it was read, it had " + std::to_string(size) +
                         " bytes when it was opened; leave the data set alone while it is in use",
                     static_cast<std::int64_t>(offset));
}

Result<FileIdentity> inspect(int fd, const ReadLimits& limits) {
  struct stat status{};
  if (::fstat(fd, &status) != 0) return io_error(errno, "read the file's attributes");
  if (!S_ISREG(status.st_mode)) {
    return fetch_error(ErrorCode::kUnsupported, "this is " + kind_of(status.st_mode) + "; only regular files are read");
  }
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (size == 0) {
    return fetch_error(ErrorCode::kTruncated, "the file is empty; restore it or remove it from the data set", 0);
  }
  if (size > limits.max_file_bytes) {
    return fetch_error(ErrorCode::kTooLarge, "the file has " + std::to_string(size) + " bytes, the limit is " +
                                                 std::to_string(limits.max_file_bytes) +
                                                 "; raise it or remove the file");
  }
  return FileIdentity{size, std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec,
                      status.st_ino};
}

Error about(Error error, const ReadRequest& request, Part part) {
  error.stage = Stage::kFetch;
  error.path = request.source->name(request.index, part);
  error.index = static_cast<std::int64_t>(request.index);
  return error;
}

Status answer_from_memory(ReadRequest& request, Part part) {
  const std::span<const std::uint8_t> bytes = request.source->locate(request.index, part).bytes;
  if (bytes.empty()) {
    return about(fetch_error(ErrorCode::kTruncated, "the record is empty; remove it from the data set", 0), request,
                 part);
  }
  request.bytes[at(part)] = bytes;
  request.identity[at(part)] = {.size = bytes.size()};
  return ok_status();
}

void remember(const ReadRequest& request) noexcept {
  request.source->remember_bytes(request.index, request.identity[at(Part::kImage)].size);
}

bool complete_from_memory(ReadRequest& request, ReadSink& sink) {
  for (std::size_t i = 0; i < parts_of(request); ++i) {
    if (request.source->locate(request.index, static_cast<Part>(i)).path != nullptr) return false;
  }
  request.wall_ns = request.cpu_ns = 0;
  Status status = ok_status();
  for (std::size_t i = 0; i < parts_of(request) && status.ok(); ++i) {
    status = answer_from_memory(request, static_cast<Part>(i));
  }
  sink.read_done(request, std::move(status));
  return true;
}

void cancel(ReadRequest& request, ReadSink& sink) {
  request.wall_ns = request.cpu_ns = 0;
  sink.read_done(request, about(fetch_error(ErrorCode::kCancelled, "the reader was closed"), request, Part::kImage));
}

Result<FileBytes> read_file(const char* path, Buffer& into, const ReadLimits& limits) {
  int fd = ::open(path, kOpenFlags);
  while (fd < 0 && (errno == EINTR || errno == EAGAIN)) fd = ::open(path, kOpenFlagsAgain);
  if (fd < 0) return io_error(errno, "open the file");
  const UniqueHandle file(fd);
  Result<FileIdentity> identity = inspect(fd, limits);
  if (!identity.ok()) return std::move(identity).error();
  DRAPPS_RETURN_IF_ERROR(into.ensure(identity->size));
  for (std::uint64_t done = 0; done < identity->size;) {
    const ssize_t got = ::pread(fd, into.data() + done, identity->size - done, static_cast<off_t>(done));
    if (got > 0) {
      done += static_cast<std::uint64_t>(got);
    } else if (got == 0) {
      return shrunk(done, identity->size);
    } else if (errno == EAGAIN) {
      (void)::fcntl(fd, F_SETFL, 0);
    } else if (errno != EINTR) {
      Error error = io_error(errno, "read the file");
      error.offset = static_cast<std::int64_t>(done);
      return error;
    }
  }
  return FileBytes{{into.data(), identity->size}, *identity};
}

Status read_record(ReadRequest& request, const ReadLimits& limits) {
  return read_parts(request, [&](const char* path, Buffer& into) { return read_file(path, into, limits); });
}

bool try_read_record(ReadRequest& request, const ReadLimits& limits) {
  return read_parts(request, [&](const char* path, Buffer& into) { return read_cached(path, into, limits); }).ok();
}

}  // namespace drapps
