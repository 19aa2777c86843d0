#include "drapps/decode/png/text.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include <zlib.h>

namespace drapps::png {
namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr std::size_t kOneChunk = std::size_t{1} << 20;
constexpr std::size_t kAllChunks = 64 * kOneChunk;

/// What stands before the first zero, and what stands behind it; all and nothing where there is none.
struct Split {
  Bytes head, tail;
  bool has_zero = false;
};

Split split(Bytes bytes) {
  const auto zero = std::find(bytes.begin(), bytes.end(), std::uint8_t{0});
  if (zero == bytes.end()) return {bytes, {}, false};
  const auto at = static_cast<std::size_t>(zero - bytes.begin());
  return {bytes.first(at), bytes.subspan(at + 1), true};
}

Error refused(const char* message, const Chunk& chunk) {
  return decode_error(ErrorCode::kCorrupt, message, static_cast<std::int64_t>(chunk.at));
}

/// Size of the inflated text, 0 where it is damaged, which Pillow forgives.
Result<std::size_t> inflated_size(Bytes packed, const Chunk& chunk) {
  z_stream stream{};
  if (inflateInit(&stream) != Z_OK) {
    return decode_error(ErrorCode::kResourceExhausted, "the system has no memory left for zlib");
  }
  std::array<std::uint8_t, 16384> part;
  static_assert(kOneChunk % part.size() == 0);
  stream.next_in = const_cast<Bytef*>(packed.data());
  stream.avail_in = static_cast<uInt>(packed.size());
  int result = Z_OK;
  while (result == Z_OK && stream.total_out < kOneChunk) {
    stream.next_out = part.data();
    stream.avail_out = part.size();
    result = inflate(&stream, Z_NO_FLUSH);
  }
  const std::size_t size = stream.total_out;
  const bool more = result == Z_OK && stream.avail_in > 0;
  inflateEnd(&stream);
  if (more) {
    return refused(
        "a compressed text or profile holds more than 1 MiB, which Pillow refuses too; save the picture without it, "
        "or, "
        "in a PyTorch loader, have Pillow read it by a larger PIL.PngImagePlugin.MAX_TEXT_CHUNK",
        chunk);
  }
  return result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR ? size : std::size_t{0};
}

}  // namespace

Status TextLimits::check(const Chunk& chunk) {
  const bool profile = chunk.type == chunk_type("iCCP"), plain = chunk.type == chunk_type("tEXt");
  const bool packed = chunk.type == chunk_type("zTXt"), international = chunk.type == chunk_type("iTXt");
  if (!profile && !plain && !packed && !international) return ok_status();
  const Split key = split(chunk.body);
  Bytes text = key.tail;
  bool inflate = packed || profile;
  if (profile) {
    // Pillow looks for the method behind the name, which is the first byte where no zero ends the name.
    const Bytes method = key.has_zero ? key.tail : chunk.body;
    if (method.empty()) return refused("a colour profile is too short; the file is damaged", chunk);
    text = method;
  }
  if (inflate && !text.empty()) {
    if (text[0] != 0) return refused("an unknown compression of a text or profile; the file is damaged", chunk);
    text = text.subspan(1);
  }
  if (international) {
    if (!key.has_zero || text.size() < 2) return ok_status();
    inflate = text[0] != 0;
    if (inflate && text[1] != 0) return ok_status();
    const Split language = split(text.subspan(2)), keyword = split(language.tail);
    if (!language.has_zero || !keyword.has_zero) return ok_status();
    text = keyword.tail;
  }
  std::size_t size = inflate ? 0 : text.size();
  if (inflate && !text.empty()) {
    const Result<std::size_t> unpacked = inflated_size(text, chunk);
    if (!unpacked.ok()) return unpacked.error();
    size = *unpacked;
  }
  if (profile || (!international && key.head.empty())) return ok_status();
  total_ += size;
  if (total_ > kAllChunks) {
    return refused(
        "the PNG holds more than 64 MiB of text, which Pillow refuses too; save the picture without it, or, in a "
        "PyTorch loader, have Pillow read it by a larger PIL.PngImagePlugin.MAX_TEXT_MEMORY",
        chunk);
  }
  return ok_status();
}

}  // namespace drapps::png
