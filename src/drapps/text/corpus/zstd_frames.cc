#include "drapps/text/corpus/zstd_frames.h"

#include <array>
#include <span>
#include <string>
#include <utility>

namespace drapps::text {
namespace {

constexpr std::uint32_t kMagic = 0xFD2F'B528;
constexpr std::uint32_t kSkippable = 0x184D'2A50;  // and the fifteen numbers behind it
constexpr std::uint64_t kBlockHeader = 3;
constexpr std::uint64_t kChecksum = 4;

bool skippable(std::uint64_t magic) { return (magic & ~std::uint64_t{15}) == kSkippable; }

std::uint64_t little_endian(std::span<const std::uint8_t> bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | bytes[i];
  return value;
}

Error bad_frame(ErrorCode code, std::uint64_t offset, std::string message) {
  return {.code = code,
          .stage = Stage::kDecode,
          .message = std::move(message),
          .offset = static_cast<std::int64_t>(offset)};
}

struct Walk {
  FileWindow& file;

  Result<std::uint64_t> number(std::uint64_t offset, std::uint64_t bytes) {
    auto read = file.read(offset, bytes);
    if (!read.ok()) {
      return bad_frame(ErrorCode::kTruncated, offset, "the zstd file ends within a frame; copy it here once more");
    }
    return little_endian(*read);
  }

  /// Sets length and content of a frame whose magic number stands at its offset.
  Status measure(ZstdFrame& frame) {
    std::uint64_t at = frame.offset + 4;
    auto descriptor = number(at++, 1);
    if (!descriptor.ok()) return std::move(descriptor).error();
    const bool single_segment = (*descriptor & 0x20) != 0;
    const bool checksum = (*descriptor & 0x04) != 0;
    if ((*descriptor & 0x08) != 0) {
      return bad_frame(ErrorCode::kCorrupt, frame.offset, "a reserved bit is set in the header of the zstd frame");
    }
    if (!single_segment) ++at;  // the size of the window
    if ((*descriptor & 0x03) != 0) {
      return bad_frame(ErrorCode::kUnsupported, frame.offset,
                       "the zstd frame needs a dictionary; compress the file without one");
    }
    constexpr std::array<std::uint64_t, 4> kSizes{0, 2, 4, 8};
    const std::uint64_t flag = *descriptor >> 6;
    const std::uint64_t bytes = flag == 0 && single_segment ? 1 : kSizes[flag];
    if (bytes > 0) {
      auto content = number(at, bytes);
      if (!content.ok()) return std::move(content).error();
      frame.content = *content + (bytes == 2 ? 256 : 0);
      at += bytes;
    }
    while (true) {
      auto header = number(at, kBlockHeader);
      if (!header.ok()) return std::move(header).error();
      const std::uint64_t type = *header >> 1 & 3;
      if (type == 3) return bad_frame(ErrorCode::kCorrupt, at, "a block of the zstd frame is of a reserved type");
      at += kBlockHeader + (type == 1 ? 1 : *header >> 3);
      if ((*header & 1) != 0) break;
    }
    if (checksum) at += kChecksum;
    if (at > file.size()) {
      return bad_frame(ErrorCode::kTruncated, frame.offset,
                       "the zstd file ends within a frame; copy it here once more");
    }
    frame.length = at - frame.offset;
    return ok_status();
  }
};

}  // namespace

bool begins_zstd(std::span<const std::uint8_t> first) noexcept {
  if (first.size() < 4) return false;
  const std::uint64_t magic = little_endian(first.first(4));
  return magic == kMagic || skippable(magic);
}

Status for_each_frame(FileWindow& file, const std::function<void(const ZstdFrame&)>& frame) {
  Walk walk{file};
  ZstdFrame next;
  bool waiting = false;  // `next` has been measured
  for (std::uint64_t at = 0; at < file.size();) {
    auto magic = walk.number(at, 4);
    if (!magic.ok()) return std::move(magic).error();
    if (skippable(*magic)) {
      auto length = walk.number(at + 4, 4);
      if (!length.ok()) return std::move(length).error();
      const std::uint64_t whole = 8 + *length;
      if (whole > file.size() - at) {
        return bad_frame(ErrorCode::kTruncated, at, "the zstd file ends within a skippable frame");
      }
      if (waiting) next.length += whole;
      at += whole;
      continue;
    }
    if (*magic != kMagic) {
      return bad_frame(ErrorCode::kCorrupt, at, "no zstd frame begins here; leave out what was appended to the file");
    }
    if (waiting) frame(next);
    next = {.offset = at};
    DRAPPS_RETURN_IF_ERROR(walk.measure(next));
    waiting = true;
    at += next.length;
  }
  if (waiting) frame(next);
  return ok_status();
}

}  // namespace drapps::text
