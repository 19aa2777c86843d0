#include "drapps/storage/file_window.h"

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "drapps/storage/read_file.h"

namespace drapps {
namespace {

// The head of a record and the labels around it; more would read the pictures between them too.
constexpr std::uint64_t kWindow = 4096;

Result<FileIdentity> identity_of(int fd) {
  struct stat status{};
  if (::fstat(fd, &status) != 0) return io_error(errno, "read the file's attributes");
  if (!S_ISREG(status.st_mode)) {
    return Error{.code = ErrorCode::kUnsupported, .message = "this is no regular file; name files"};
  }
  return drapps::identity_of(status);
}

}  // namespace

Result<FileWindow> FileWindow::open(const char* path) {
  FileWindow window;
  window.file_.reset(::open(path, kOpenFlags));
  if (!window.file_) return io_error(errno, "open the file");
  (void)::fcntl(window.file_.get(), F_SETFL, 0);
  Result<FileIdentity> identity = identity_of(window.file_.get());
  if (!identity.ok()) return std::move(identity).error();
  window.identity_ = *identity;
  // Read-ahead would fetch the pictures between what is asked for.
  (void)::posix_fadvise(window.file_.get(), 0, 0, POSIX_FADV_RANDOM);
  return window;
}

FileWindow::FileWindow(std::span<const std::uint8_t> bytes) noexcept : identity_{.size = bytes.size()}, held_(bytes) {}

Result<std::span<const std::uint8_t>> FileWindow::read(std::uint64_t offset, std::uint64_t count) {
  if (offset > size() || count > size() - offset) {
    return Error{.code = ErrorCode::kTruncated,
                 .message = "the file ends at byte " + std::to_string(size()) + ", before the " +
                            std::to_string(count) + " bytes that should be here; restore the file",
                 .offset = static_cast<std::int64_t>(offset)};
  }
  if (count > kMaxPiece) {
    return Error{.code = ErrorCode::kTooLarge,
                 .message = std::to_string(count) + " bytes here are more than a list of records needs (" +
                            std::to_string(kMaxPiece) + "); restore the file",
                 .offset = static_cast<std::int64_t>(offset)};
  }
  if (offset < first_ || offset + count > first_ + held_.size()) {
    const std::uint64_t wanted = std::min(std::max(count, kWindow), size() - offset);
    DRAPPS_RETURN_IF_ERROR(buffer_.ensure(wanted));
    held_ = {};
    for (std::uint64_t done = 0; done < wanted;) {
      const ssize_t got = ::pread(file_.get(), buffer_.data() + done, wanted - done, static_cast<off_t>(offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return io_error(errno, "read the file");
      if (got == 0) {
        return Error{.code = ErrorCode::kTruncated,
                     .message = "the file ended while it was listed; leave the data set alone meanwhile",
                     .offset = static_cast<std::int64_t>(offset + done)};
      }
      done += static_cast<std::uint64_t>(got);
    }
    first_ = offset;
    held_ = {buffer_.data(), wanted};
  }
  return held_.subspan(offset - first_, count);
}

Status FileWindow::check_unchanged() const {
  if (!file_) return ok_status();
  Result<FileIdentity> now = identity_of(file_.get());
  if (!now.ok()) return std::move(now).error();
  if (*now != identity_) {
    return Error{.code = ErrorCode::kCorrupt,
                 .message = "the file was written to while it was listed; leave the data set alone meanwhile"};
  }
  return ok_status();
}

}  // namespace drapps
