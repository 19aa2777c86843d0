// What both readers share: how a part's file is opened and checked, and how failures are told.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <string_view>

#include "drapps/base/unique_handle.h"
#include "drapps/storage/reader.h"

namespace drapps {

/// Opening a FIFO would wait for a writer without O_NONBLOCK.
inline constexpr int kOpenFlags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
/// With O_NONBLOCK, a file that another program holds a lease on answers EAGAIN, as no FIFO does: then it is opened
/// with these flags.
inline constexpr int kOpenFlagsAgain = kOpenFlags & ~O_NONBLOCK;

/// A failed system call on a file, with stage kFetch. @param doing  such as "open".
Error io_error(int error_number, std::string_view doing);

/// Which bytes of an open file a part is.
struct ByteRange {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  FileIdentity identity;                // of the part
  std::uint64_t state = kUnknownState;  // of the file
  bool to_end = false;                  // `bytes` is what there is room for; how many there are, the end tells
};

/// The range of the part at `location`, whose file is open at `fd`, if that is a regular file, and the part is neither
/// empty nor above the limit. A shard must be what it was: kTruncated where it is shorter, kCorrupt where it differs.
/// File systems whose files have no size before they are read say 0, as /proc does: such a file is read to its end.
Result<ByteRange> inspect(int fd, const Location& location, const ReadLimits& limits);

/// For a range that goes to the file's end, which was met `done` bytes after the start. kTruncated where that is none.
Status end_range(ByteRange& range, std::uint64_t done);
/// For a range that goes to the file's end: what there was room for was read, so it is to be read again, into more
/// room. kTooLarge above the limit.
Status grow_range(ByteRange& range, Buffer& into, const ReadLimits& limits);

/// The file ended `done` bytes after the start of the part.
Error shrunk(std::uint64_t done, const ByteRange& range);

/// The descriptor of a part while it is read: opened for it, or kept by its shard.
class PartFile {
 public:
  int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }
  /// True where the shard of `location` is open already.
  bool find(const Location& location) noexcept;
  /// Takes `fd`, newly opened, and offers it to the shard.
  void take(int fd, const Location& location) noexcept;
  /// Releases the descriptor, where it is the caller's to close; else an empty handle.
  UniqueHandle release() noexcept;

 private:
  int fd_ = -1;
  UniqueHandle own_;
};

/// `error`, which is about this part.
Error about(Error error, ReadRequest& request, RecordPart part);

/// Answers a part that is in memory. Requires at[part].path == nullptr.
Status answer_from_memory(ReadRequest& request, RecordPart part);

/// First in, first out, linked through the requests themselves.
class ReadQueue {
 public:
  bool empty() const noexcept { return first_ == nullptr; }
  void push(ReadRequest& request) noexcept {
    request.next = nullptr;
    (empty() ? first_ : last_->next) = &request;
    last_ = &request;
  }
  ReadRequest* pop() noexcept {
    ReadRequest* const request = first_;
    if (request != nullptr) first_ = request->next;
    return request;
  }

 private:
  ReadRequest* first_ = nullptr;
  ReadRequest* last_ = nullptr;
};

/// True where the whole record is in memory and was answered: `sink` has been told.
bool complete_from_memory(ReadRequest& request, ReadSink& sink);

/// The status of a request that nobody will read any more.
Status cancelled();

/// Tells the sink that nobody will read `request` any more.
void cancel(ReadRequest& request, ReadSink& sink);

}  // namespace drapps
