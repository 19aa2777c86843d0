#include "drapps/text/corpus/content_reader.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cstdint>
#include <new>
#include <span>
#include <utility>

namespace drapps::text {
namespace {

constexpr std::uint64_t kFetch = std::uint64_t{1} << 20;
// Behind the block, where most lines end soon.
constexpr std::uint64_t kFetchBeyond = std::uint64_t{64} << 10;
constexpr std::uint64_t kPrefetched = ContentReader::kPiece / kFetch;
constexpr std::size_t kPieceBeyond = std::size_t{16} << 10;  // of what is decompressed

/// What is read at once from a place in a file on, of a block that ends at `end`.
std::uint64_t fetched_from(std::uint64_t at, std::uint64_t end, std::uint64_t file) noexcept {
  return at < end ? std::min(kFetch, end - at) : std::min(kFetchBeyond, file - at);
}

}  // namespace

/// Decompresses content step by step.
class ContentReader::Decompressor {
 public:
  struct Step {
    std::size_t used = 0;     // of the input
    std::size_t written = 0;  // of the output
    bool whole = false;       // what was compressed together ends here
  };
  virtual ~Decompressor() = default;
  /// How many bytes what begins at `in` has when decompressed; UINT64_MAX where it does not say.
  virtual std::uint64_t content_size(std::span<const std::uint8_t>) const noexcept { return UINT64_MAX; }
  /// Decompresses some of `in`. An error is kCorrupt, with a message alone.
  virtual Result<Step> step(std::span<const std::uint8_t> in, std::span<char> out) = 0;
};

class ContentReader::ZstdContent final : public Decompressor {
 public:
  ZstdContent() : stream_(ZSTD_createDStream()) {
    if (stream_ == nullptr) throw std::bad_alloc();
  }
  std::uint64_t content_size(std::span<const std::uint8_t> in) const noexcept override {
    const unsigned long long bytes = ZSTD_getFrameContentSize(in.data(), in.size());
    return bytes == ZSTD_CONTENTSIZE_UNKNOWN || bytes == ZSTD_CONTENTSIZE_ERROR ? UINT64_MAX : bytes;
  }
  Result<Step> step(std::span<const std::uint8_t> in, std::span<char> out) override {
    ZSTD_inBuffer from{in.data(), in.size(), 0};
    ZSTD_outBuffer to{out.data(), out.size(), 0};
    const std::size_t left = ZSTD_decompressStream(stream_.get(), &to, &from);
    if (ZSTD_isError(left) != 0) {
      return Error{.code = ErrorCode::kCorrupt, .message = std::string("zstd: ") + ZSTD_getErrorName(left)};
    }
    return Step{from.pos, to.pos, left == 0};
  }

 private:
  struct FreeStream {
    void operator()(ZSTD_DStream* stream) const noexcept { ZSTD_freeDStream(stream); }
  };
  const std::unique_ptr<ZSTD_DStream, FreeStream> stream_;
};

class ContentReader::GzipContent final : public Decompressor {
 public:
  GzipContent() {
    constexpr int kGzipOnly = 16;
    if (inflateInit2(&stream_, MAX_WBITS + kGzipOnly) != Z_OK) throw std::bad_alloc();
  }
  GzipContent(const GzipContent&) = delete;
  GzipContent& operator=(const GzipContent&) = delete;
  ~GzipContent() override { inflateEnd(&stream_); }

  Result<Step> step(std::span<const std::uint8_t> in, std::span<char> out) override {
    if (ended_ && !in.empty()) {
      // Files may be of several parts; zeros behind the last one are padding, as gzip itself has it.
      if (in.front() == 0) return Step{in.size(), 0, true};
      inflateReset(&stream_);
    }
    stream_.next_in = const_cast<Bytef*>(in.data());
    stream_.avail_in = static_cast<uInt>(in.size());
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(out.size());
    const int status = inflate(&stream_, Z_NO_FLUSH);
    if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR) {
      return Error{.code = ErrorCode::kCorrupt,
                   .message = std::string("gzip: ") + (stream_.msg != nullptr ? stream_.msg : "damaged data")};
    }
    ended_ = status == Z_STREAM_END;
    return Step{in.size() - stream_.avail_in, out.size() - stream_.avail_out, ended_};
  }

 private:
  z_stream stream_{};
  bool ended_ = false;
};

ContentReader::ContentReader(const CorpusAccess& access, const Block& block)
    : access_(access),
      block_(block),
      file_(access.corpus.file(block)),
      end_(block.offset + block.length),
      input_(access.ledger),
      next_(block.offset) {
  if (file_.compression == Compression::kZstd) decompressor_ = std::make_unique<ZstdContent>();
  if (file_.compression == Compression::kGzip) decompressor_ = std::make_unique<GzipContent>();
}

ContentReader::~ContentReader() = default;

void ContentReader::prefetch(const CorpusAccess& access, const Block& block, std::uint64_t at) {
  const Corpus::File& file = access.corpus.file(block);
  const std::uint64_t end = block.offset + block.length;
  // Behind a block of lines its last one ends; what is compressed mostly ends with a line.
  const std::uint64_t behind = file.compression == Compression::kNone ? std::min(file.size, end + 1) : end;
  for (std::uint64_t i = 0; i < kPrefetched && at < behind; ++i) {
    const std::uint64_t bytes = fetched_from(at, end, file.size);
    access.storage.prefetch(access.corpus.range(block.file, at, bytes));
    at += bytes;
  }
}

/// More input, where all of it is used and the file has more.
Status ContentReader::fetch() {
  const std::uint64_t bytes = fetched_from(next_, end_, file_.size);
  ReadRequest request;
  request.at[kFirstPart] = access_.corpus.range(block_.file, next_, bytes);
  request.parts = 1;
  request.into[kFirstPart] = &input_;
  input_size_ = used_ = 0;
  if (access_.storage.ahead() > 0) prefetch(access_, block_, next_ + bytes);
  Status status = access_.storage.read(request);
  if (!status.ok()) {
    if (status.error().offset < 0) status.error().offset = static_cast<std::int64_t>(next_);
    return status;
  }
  input_size_ = request.bytes[kFirstPart].size();
  next_ += bytes;
  return ok_status();
}

Error ContentReader::at_input(ErrorCode code, std::string message) const {
  return {.code = code,
          .stage = Stage::kDecode,
          .message = std::move(message),
          .offset = static_cast<std::int64_t>(next_ - (input_size_ - used_))};
}

std::uint64_t ContentReader::left() const noexcept {
  return decompressor_ == nullptr ? input_size_ - used_ + (end_ - std::min(next_, end_)) : frame_left_;
}

Result<ContentReader::At> ContentReader::read(std::string& into, std::size_t most) {
  const std::size_t before = into.size();
  while (into.size() - before < most) {
    if (behind_ && into.size() != before) return At::kBeyond;
    if (used_ == input_size_ && hungry_) {
      if (whole_ && next_ == file_.size) return At::kFileEnd;
      if (whole_ && next_ == end_ && !std::exchange(behind_, true)) return At::kBlockEnd;
      if (next_ == file_.size) {
        return at_input(ErrorCode::kTruncated, "the compressed data ends too early; copy the file here once more");
      }
      DRAPPS_RETURN_IF_ERROR(fetch());
    }
    const std::size_t room = most - (into.size() - before);
    DRAPPS_RETURN_IF_ERROR(decompressor_ == nullptr ? copy(into, room) : decompress(into, room));
  }
  return behind_ ? At::kBeyond : At::kWithin;
}

Status ContentReader::copy(std::string& into, std::size_t most) {
  const std::size_t bytes = std::min(most, input_size_ - used_);
  into.append(reinterpret_cast<const char*>(input_.data()) + used_, bytes);
  used_ += bytes;
  return ok_status();
}

Status ContentReader::decompress(std::string& into, std::size_t most) {
  const std::size_t size = into.size();
  const std::span<const std::uint8_t> input{input_.data() + used_, input_size_ - used_};
  if (whole_) frame_left_ = decompressor_->content_size(input);
  // What is resized is written first; and a frame for which there is room is decompressed to where it belongs.
  const std::uint64_t content = std::clamp<std::uint64_t>(frame_left_, 1, most);
  const std::size_t room = behind_ ? std::min<std::uint64_t>(content, kPieceBeyond) : content;
  into.resize(size + room);
  auto step = decompressor_->step(input, {into.data() + size, room});
  into.resize(size + (step.ok() ? step->written : 0));
  if (!step.ok()) return at_input(ErrorCode::kCorrupt, std::move(step).error().message);
  if (step->used == 0 && step->written == 0 && used_ != input_size_) {
    return at_input(ErrorCode::kCorrupt, "the compressed data leads nowhere");
  }
  used_ += step->used;
  whole_ = step->whole;
  hungry_ = whole_ || step->written < room;
  if (frame_left_ != UINT64_MAX) frame_left_ -= std::min<std::uint64_t>(frame_left_, step->written);
  return ok_status();
}

}  // namespace drapps::text
