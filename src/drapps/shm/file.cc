#include "drapps/shm/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "drapps/base/mappings.h"

namespace drapps {
namespace {

std::string reason() { return std::generic_category().message(errno); }

Error exhausted(const std::string& what, const char* advice) {
  return Error{.code = ErrorCode::kResourceExhausted, .message = what + " failed: " + reason() + "; " + advice};
}

Error not_opened(const char* what, const std::string& path) {
  const ErrorCode code = errno == EEXIST   ? ErrorCode::kInvalidArgument
                         : errno == ENOENT ? ErrorCode::kNotFound
                         : errno == EACCES ? ErrorCode::kPermission
                                           : ErrorCode::kIo;
  return Error{.code = code, .message = std::string(what) + " shared memory failed: " + reason(), .path = path};
}

constexpr const char* kMoreFiles = "raise the limit on open files (ulimit -n)";

}  // namespace

Mapping::~Mapping() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

Result<SharedFile> SharedFile::make(const char* name) {
  UniqueHandle fd(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) return exhausted("making shared memory", kMoreFiles);
  fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK);
  return SharedFile(std::move(fd));
}

Result<SharedFile> SharedFile::create(const std::string& path) {
  UniqueHandle fd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd) return not_opened("making", path);
  return SharedFile(std::move(fd));
}

Result<SharedFile> SharedFile::open(const std::string& path) {
  // A pipe in the file's place would let open() wait for its other end.
  UniqueHandle fd(::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (!fd) return not_opened("opening", path);
  return of(std::move(fd), "this", path);
}

Result<SharedFile> SharedFile::attach(int fd) {
  UniqueHandle own(fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (!own && errno == EMFILE) return exhausted("attaching to shared memory", kMoreFiles);
  return of(std::move(own), "file descriptor " + std::to_string(fd), "");
}

Result<SharedFile> SharedFile::of(UniqueHandle fd, const std::string& what, const std::string& path) {
  struct stat status{};
  if (!fd || fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return Error{.message = what + " is no shared memory; hand over the one that its maker names", .path = path};
  }
  return SharedFile(std::move(fd));
}

std::uint64_t SharedFile::bytes() const noexcept {
  struct stat status{};
  return fstat(fd(), &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

Status SharedFile::grow(std::uint64_t bytes) {
  if (ftruncate(fd(), static_cast<off_t>(bytes)) == 0) return ok_status();
  return exhausted("growing shared memory to " + std::to_string(bytes) + " bytes",
                   "raise the limit on the size of files (ulimit -f), or use less");
}

Result<Mapping> SharedFile::map(std::uint64_t offset, std::uint64_t bytes) const {
  const std::uint64_t end = this->bytes();
  if (offset > end || bytes > end - offset) {
    return Error{.code = ErrorCode::kTruncated,
                 .message = "the shared memory has " + std::to_string(end) + " bytes, not the " +
                            std::to_string(bytes) + " from " + std::to_string(offset) + " on that were asked for"};
  }
  void* const data =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd(), static_cast<off_t>(offset));
  if (data == MAP_FAILED) {
    return exhausted("mapping " + std::to_string(bytes) + " bytes of shared memory", more_address_space());
  }
  return Mapping(static_cast<std::byte*>(data), bytes);
}

std::uint64_t SharedFile::read_word(std::uint64_t offset) const noexcept {
  std::uint64_t word = 0;
  const ssize_t bytes = pread(fd(), &word, sizeof(word), static_cast<off_t>(offset));
  return bytes == static_cast<ssize_t>(sizeof(word)) ? word : 0;
}

bool SharedFile::back(std::uint64_t offset, std::uint64_t bytes) const noexcept {
  // A signal undoes what a call has done, so a long range would come to nothing in a process that gets many.
  constexpr std::uint64_t kStep = std::uint64_t{1} << 20;
  const std::uint64_t end = offset + bytes;
  while (offset < end) {
    const std::uint64_t step = std::min(kStep, end - offset);
    if (fallocate(fd(), 0, static_cast<off_t>(offset), static_cast<off_t>(step)) == 0) {
      offset += step;
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

void SharedFile::punch(std::uint64_t offset, std::uint64_t bytes) const noexcept {
  fallocate(fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset), static_cast<off_t>(bytes));
}

std::uint64_t SharedFile::resident() const noexcept {
  struct stat status{};
  return fstat(fd(), &status) == 0 ? static_cast<std::uint64_t>(status.st_blocks) * 512 : 0;
}

}  // namespace drapps
