// What both readers share: how a file is opened and checked, and how failures are told.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <string_view>

#include "drapps/source/reader.h"

namespace drapps {

/// Opening a FIFO would wait for a writer without O_NONBLOCK.
inline constexpr int kOpenFlags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
/// With it, a file that another program holds a lease on answers EAGAIN, as no FIFO does: then it is opened with these.
inline constexpr int kOpenFlagsAgain = kOpenFlags & ~O_NONBLOCK;

/// A failed system call on a file, with stage kFetch. @param doing  such as "open".
Error io_error(int error_number, std::string_view doing);

/// The file ends at `offset`, before its size.
Error shrunk(std::uint64_t offset, std::uint64_t size);

/// The identity of an open file, if it is a regular one that is neither empty nor above the limit.
Result<FileIdentity> inspect(int fd, const ReadLimits& limits);

/// `error`, saying which sample and file it is about.
Error about(Error error, const ReadRequest& request, Part part);

/// The parts of the record: 1, or 2 with a mask.
inline std::size_t parts_of(const ReadRequest& request) noexcept { return request.source->has_mask() ? 2 : 1; }

/// Answers a part that is in memory. Requires locate(part).path == nullptr.
Status answer_from_memory(ReadRequest& request, Part part);

/// Notes in the source what was learnt of a record that was read.
void remember(const ReadRequest& request) noexcept;

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

/// Tells the sink that nobody will read `request` any more.
void cancel(ReadRequest& request, ReadSink& sink);

}  // namespace drapps
