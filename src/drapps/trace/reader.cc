#include "drapps/trace/reader.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "drapps/base/unique_handle.h"
#include "drapps/decode/crc32.h"

namespace drapps::trace {
namespace {

constexpr std::size_t kChunk = 64 << 10;

Error of_system(int number) {
  const ErrorCode code = number == ENOENT   ? ErrorCode::kNotFound
                         : number == EACCES ? ErrorCode::kPermission
                                            : ErrorCode::kIo;
  return {.code = code, .message = std::generic_category().message(number)};
}

Error no_trace() { return {.code = ErrorCode::kCorrupt, .message = "this is no trace: loader.record(path) makes one"}; }

Error without_header() {
  return {.code = ErrorCode::kTruncated,
          .message = "the trace ends before its header does: nothing was recorded in it"};
}

}  // namespace

Result<std::unique_ptr<TraceReader>> TraceReader::open(const std::string& path) {
  auto file = std::make_shared<UniqueHandle>(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!*file) {
    Error error = of_system(errno);
    error.path = path;
    return error;
  }
  auto reader = of([file](std::span<std::uint8_t> into) -> Result<std::size_t> {
    for (;;) {
      const ssize_t got = ::read(file->get(), into.data(), into.size());
      if (got >= 0) return static_cast<std::size_t>(got);
      if (errno != EINTR) return of_system(errno);
    }
  });
  if (!reader.ok()) reader.error().path = path;
  return reader;
}

Result<std::unique_ptr<TraceReader>> TraceReader::of(Input input) {
  std::unique_ptr<TraceReader> reader(new TraceReader(std::move(input)));
  DRAPPS_RETURN_IF_ERROR(reader->read_header());
  return reader;
}

Status TraceReader::read_header() {
  Bytes preamble;
  const auto got = fill(preamble, kPreamble);
  if (!got.ok()) return got.error();
  if (!std::equal(kMagic.begin(), kMagic.begin() + static_cast<std::ptrdiff_t>(std::min(*got, kMagic.size())),
                  preamble.begin())) {
    return no_trace();
  }
  if (*got < kPreamble) return *got == 0 ? no_trace() : without_header();
  ByteCursor in(preamble);
  static_cast<void>(in.take(kMagic.size()));
  if (const std::uint64_t version = in.fixed(4); version != kVersion) {
    return Error{.code = ErrorCode::kUnsupported,
                 .message = "this is a trace of format " + std::to_string(version) +
                            ", and this version reads format " + std::to_string(kVersion) +
                            "; read it with the version that recorded it"};
  }
  offset_ = kPreamble;
  for (const Tag tag : {Tag::kHeader, Tag::kAbout}) {
    auto next = next_record();
    if (!next.ok()) return std::move(next).error();
    const std::optional<Record>& record = *next;
    if (!record) return without_header();
    if (record->tag != tag) return at(no_trace());
    const std::string text(record->content.begin(), record->content.end());
    if (tag == Tag::kAbout) {
      about_ = text;
    } else {
      auto header = header_from_json(text);
      if (!header.ok()) return std::move(header).error();
      header_ = *std::move(header);
    }
  }
  decoder_.emplace(header_);
  return ok_status();
}

Result<std::optional<Entry>> TraceReader::next() {
  auto next = next_record();
  if (!next.ok()) return std::move(next).error();
  const std::optional<Record>& record = *next;
  if (!record || !decoder_) return std::optional<Entry>();
  auto entry = decoder_->read(record->tag, record->content);
  if (!entry.ok()) return at(std::move(entry).error());
  if (std::holds_alternative<Ended>(*entry)) ended_ = true;
  return std::optional<Entry>(*std::move(entry));
}

Result<std::optional<TraceReader::Record>> TraceReader::next_record() {
  if (left_.empty()) {
    auto more = next_block();
    if (!more.ok()) return std::move(more).error();
    if (!*more) return std::optional<Record>();
  }
  const auto tag = static_cast<Tag>(left_.byte());
  const auto content = left_.take(left_.number());
  if (!left_.ok()) {
    left_ = ByteCursor({});
    over_ = true;
    return at({.code = ErrorCode::kCorrupt, .message = "a block of the trace makes no sense"});
  }
  return std::optional(Record{tag, content});
}

Result<bool> TraceReader::next_block() {
  if (over_) return false;
  const auto end = [&](std::string note) {
    over_ = true;
    note_ = std::move(note);
    return false;
  };
  Bytes head;
  const auto got = fill(head, kBlockHead);
  if (!got.ok()) return got.error();
  if (*got == 0) {
    return end(ended_ ? ""
                      : "the recording was not closed: its process was killed, the file took no more, or it goes "
                        "on");
  }
  const std::string from = "from byte " + std::to_string(offset_) + " on";
  const std::string cut = "the trace was cut off: what is there " + from + " is no whole block, and is left out";
  if (*got < kBlockHead) return end(cut);
  ByteCursor in(head);
  const std::uint64_t sum = in.fixed(4);
  const std::uint64_t length = in.fixed(4);
  const std::string damaged = "the trace is damaged " + from + "; what follows is left out";
  if (length == 0 || length > kMostBlockBytes) return end(damaged);
  block_.assign(head.begin() + 4, head.end());
  const auto read = fill(block_, static_cast<std::size_t>(length));
  if (!read.ok()) return read.error();
  if (*read < length) return end(cut);
  if (crc32(block_) != sum) return end(damaged);
  offset_ += kBlockHead + length;
  left_ = ByteCursor(std::span(block_).subspan(4));
  return true;
}

/// Appends so many bytes, or as many as there are. Memory is taken for what is there, whatever was asked for.
Result<std::size_t> TraceReader::fill(Bytes& into, std::size_t size) {
  const std::size_t before = into.size();
  while (into.size() - before < size) {
    const std::size_t had = into.size();
    into.resize(had + std::min(kChunk, size - (had - before)));
    auto got = input_(std::span(into).subspan(had));
    into.resize(had + (got.ok() ? *got : 0));
    if (!got.ok()) return std::move(got).error();
    if (*got == 0) break;
  }
  return into.size() - before;
}

Error TraceReader::at(Error error) const {
  error.offset = static_cast<std::int64_t>(offset_);
  return error;
}

}  // namespace drapps::trace
