// libpng inflates, undoes the row filters and the interlacing; everything that Pillow does its own way (which chunks
// count, what a checksum means, palettes, depths) is done here. So libpng never sees the file itself but a stream made
// of its picture: a header, a palette of one colour where it insists on one, the data chunks, an end.
#include "drapps/decode/png/reader.h"

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <png.h>
#include <zlib.h>

#include "drapps/decode/png/structure.h"
#include "drapps/decode/rows.h"

namespace drapps::png {
namespace {

/// Pillow's blocks: whether it notices an early end, or a wrong checksum behind the last row, depends on what was read
/// along with it.
constexpr std::size_t kBlock = 65536;

/// The stream for libpng, produced as it is read.
class PngStream {
 public:
  PngStream(std::span<const std::uint8_t> file, const PngHeader& header) : chunks_(file, header), size_(file.size()) {
    constexpr std::uint8_t kSignature[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
    for (const std::uint8_t byte : kSignature) put(byte);
    put_number(13);
    put_number(chunk_type("IHDR"));
    put_number(static_cast<std::uint32_t>(header.frame.width));
    put_number(static_cast<std::uint32_t>(header.frame.height));
    put(header.depth);
    put(header.color_type);
    put(0);
    put(0);
    put(header.interlaced ? 1 : 0);
    put_number(0);  // checksums are not looked at
    if (header.color_type == PNG_COLOR_TYPE_PALETTE) {
      put_number(3);
      put_number(chunk_type("PLTE"));
      for (int i = 0; i < 7; ++i) put(0);
    }
    part_ = {small_.data(), filled_};
  }

  /// Copies up to `count` bytes; fewer only behind the end.
  std::size_t take(std::uint8_t* out, std::size_t count) {
    std::size_t taken = 0;
    while (taken < count) {
      if (part_.empty() && !advance()) break;
      const std::size_t step = std::min(count - taken, part_.size());
      std::memcpy(out + taken, part_.data(), step);
      part_ = part_.subspan(step);
      taken += step;
    }
    return taken;
  }

  /// Place in the file of what is being read.
  std::size_t place() const { return std::min(place_, size_); }

 private:
  void put(std::uint8_t byte) { small_[filled_++] = byte; }
  void put_number(std::uint32_t value) {
    for (int shift = 24; shift >= 0; shift -= 8) put(static_cast<std::uint8_t>(value >> shift));
  }

  /// Next part: the picture data of a chunk between its header and its checksum, which are made up.
  bool advance() {
    if (!body_.empty()) {
      part_ = std::exchange(body_, {});
      place_ += part_.size();
      return true;
    }
    if (ended_) return false;
    filled_ = 0;
    if (in_data_) put_number(0);  // checksum of the chunk before
    const std::optional<std::span<const std::uint8_t>> body = chunks_.next();
    place_ = chunks_.place();
    if (body) {
      in_data_ = true;
      body_ = *body;
      put_number(static_cast<std::uint32_t>(body_.size()));
      put_number(chunk_type("IDAT"));
    } else {
      ended_ = true;
      put_number(0);
      put_number(chunk_type("IEND"));
      put_number(0);
    }
    part_ = {small_.data(), filled_};
    return true;
  }

  DataChunks chunks_;
  std::size_t size_;
  std::size_t place_ = 0;
  std::array<std::uint8_t, 64> small_{};
  std::size_t filled_ = 0;
  std::span<const std::uint8_t> part_, body_;
  bool in_data_ = false, ended_ = false;
};

struct Context {
  PngStream stream;
  Arena& arena;
  std::jmp_buf return_point{};
  std::array<char, 128> message{};
  int pixel_bits = 0;            // of a pixel in the file
  std::uint64_t inflated = 0;    // bytes of the rows so far
  std::int64_t rows_left = 0;    // still to be inflated, over all passes
  std::uint8_t* rows = nullptr;  // one row of the picture; all rows of the frame where it is interlaced
  std::size_t stride = 0;
};

/// Rows of all passes of an interlaced picture; a pass without columns has none.
std::int64_t interlaced_rows(const Rect& frame) {
  const auto height = static_cast<std::uint32_t>(frame.height), width = static_cast<std::uint32_t>(frame.width);
  std::int64_t rows = 0;
  for (int pass = 0; pass < PNG_INTERLACE_ADAM7_PASSES; ++pass) {
    if (PNG_PASS_COLS(width, pass) > 0) rows += PNG_PASS_ROWS(height, pass);
  }
  return rows;
}

// Called from C frames, and left by longjmp: no local here may need a destructor.
[[noreturn]] void leave(png_structp png, png_const_charp message) {
  auto* context = static_cast<Context*>(png_get_error_ptr(png));
  std::strncpy(context->message.data(), message, context->message.size() - 1);
  std::longjmp(context->return_point, 1);
}
void ignore(png_structp, png_const_charp) {}
void supply(png_structp png, png_bytep out, std::size_t count) {
  auto* context = static_cast<Context*>(png_get_io_ptr(png));
  if (context->stream.take(out, count) < count) png_error(png, "Not enough image data");
}
png_voidp allocate(png_structp png, png_alloc_size_t bytes) {
  return static_cast<Arena*>(png_get_mem_ptr(png))->allocate(bytes);
}
void keep(png_structp, png_voidp) {}
void count_row(png_structp png, png_row_infop row, png_bytep) {
  auto* context = static_cast<Context*>(png_get_user_transform_ptr(png));
  --context->rows_left;
  context->inflated += 1 + (std::uint64_t{row->width} * context->pixel_bits + 7) / 8;
}

/// Rows of libpng's bytes to planes.
class Painter {
 public:
  Painter(const PngHeader& header, const DecodeOptions& options, const Rect& region, const ImageView& out,
          std::uint8_t* row)
      : header_(header), options_(options), region_(region), out_(out), row_(row) {}

  /// Bytes that a row of the region takes in any form that rows.h reads.
  static std::size_t row_bytes(const Rect& region) { return 4 * static_cast<std::size_t>(region.width); }

  void paint(std::int32_t y, const std::uint8_t* source) {
    if (y < region_.top || y >= region_.top + region_.height) return;
    const std::int32_t at = y - region_.top;
    const int channels = channels_of(header_.color_type);
    const auto values = static_cast<std::size_t>(region_.width) * channels;
    source += static_cast<std::ptrdiff_t>(region_.left) * channels * (header_.depth == 16 ? 2 : 1);
    if (header_.color_type == PNG_COLOR_TYPE_PALETTE) {
      if (options_.color == ColorMode::kIndices) return store_gray(out_, at, source);
      for (std::size_t x = 0; x < values; ++x) std::copy_n(header_.palette[source[x]].begin(), 3, row_ + 3 * x);
      return store_rgb(out_, at, row_);
    }
    if (header_.depth == 16) {
      // Pillow keeps 16-bit gray until convert() clips it, and takes the high byte of all other 16-bit rows at once.
      const bool clip = header_.color_type == PNG_COLOR_TYPE_GRAY && options_.depth == DepthMode::kClip;
      for (std::size_t i = 0; i < values; ++i) {
        row_[i] = !clip ? source[2 * i] : source[2 * i] != 0 ? std::uint8_t{255} : source[2 * i + 1];
      }
      source = row_;
    } else if (header_.depth < 8) {
      const int scale = 255 / ((1 << header_.depth) - 1);
      for (std::size_t i = 0; i < values; ++i) row_[i] = static_cast<std::uint8_t>(source[i] * scale);
      source = row_;
    }
    switch (header_.color_type) {
      case PNG_COLOR_TYPE_GRAY: return store_gray(out_, at, source);
      case PNG_COLOR_TYPE_GRAY_ALPHA: return store_gray_alpha(out_, at, source);
      case PNG_COLOR_TYPE_RGB: return store_rgb(out_, at, source);
      default: return store_rgba(out_, at, source);
    }
  }

 private:
  static int channels_of(std::uint8_t color_type) {
    constexpr int kChannels[7] = {1, 0, 3, 1, 2, 0, 4};
    return kChannels[color_type];
  }

  const PngHeader& header_;
  const DecodeOptions& options_;
  Rect region_;
  ImageView out_;
  std::uint8_t* row_;
};

/// Whether the compressed data end as they should with these many bytes, and before more of them had to be read.
bool ends_with(std::uint64_t size, DataChunks chunks) {
  z_stream stream{};
  if (inflateInit(&stream) != Z_OK) return false;
  std::array<std::uint8_t, 16384> part;
  std::uint64_t before = 0;
  int result = Z_OK;
  for (std::optional body = chunks.next(); body && result == Z_OK; body = chunks.next()) {
    while (result == Z_OK && !body->empty()) {
      before = stream.total_out;
      const std::span piece = body->first(std::min(body->size(), kBlock));
      body = body->subspan(piece.size());
      stream.next_in = const_cast<Bytef*>(piece.data());
      stream.avail_in = static_cast<uInt>(piece.size());
      while (result == Z_OK && stream.avail_in > 0) {
        stream.next_out = part.data();
        stream.avail_out = part.size();
        result = inflate(&stream, Z_NO_FLUSH);
      }
    }
  }
  const std::uint64_t end = stream.total_out;
  inflateEnd(&stream);
  return result == Z_STREAM_END && end == size && end > before;
}

/// False on any failure; context.message or the arena says which. Nothing in here may own anything.
bool read_rows(Context& context, const PngHeader& header, Painter& painter) {
  if (setjmp(context.return_point) != 0) return false;
  png_structp png =
      png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &context, leave, ignore, &context.arena, allocate, keep);
  png_infop info = png == nullptr ? nullptr : png_create_info_struct(png);
  if (info == nullptr) return false;
  png_set_read_fn(png, &context, supply);
  png_set_crc_action(png, PNG_CRC_QUIET_USE, PNG_CRC_QUIET_USE);
  png_set_user_limits(png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
  png_set_compression_buffer_size(png, kBlock);
  png_read_info(png, info);
  png_set_packing(png);
  png_set_read_user_transform_fn(png, count_row);
  png_set_user_transform_info(png, &context, 0, 0);
  const int passes = png_set_interlace_handling(png);
  context.pixel_bits = png_get_bit_depth(png, info) * png_get_channels(png, info);
  png_read_update_info(png, info);
  const Rect& frame = header.frame;
  const std::size_t pixel = png_get_rowbytes(png, info) / static_cast<std::size_t>(frame.width);
  // The passes of an interlaced picture meet in memory; otherwise one row is enough.
  context.stride = pixel * static_cast<std::size_t>(header.extent.width);
  const std::size_t step = passes == 1 ? 0 : context.stride;
  const std::size_t bytes = passes == 1 ? context.stride : context.stride * static_cast<std::size_t>(frame.height);
  auto* rows = static_cast<std::uint8_t*>(context.arena.allocate(bytes));
  if (rows == nullptr) return false;
  std::memset(rows, 0, bytes);
  for (std::int32_t y = 0; y < header.extent.height; ++y) {
    if (y == frame.top) y += frame.height;
    if (y < header.extent.height) painter.paint(y, rows);
  }
  context.rows_left = passes == 1 ? frame.height : interlaced_rows(frame);
  context.rows = rows;
  for (int pass = 0; pass < passes; ++pass) {
    for (std::int32_t y = 0; y < frame.height; ++y) {
      std::uint8_t* row = rows + step * static_cast<std::size_t>(y);
      png_read_row(png, row + pixel * static_cast<std::size_t>(frame.left), nullptr);
      if (pass == passes - 1) painter.paint(frame.top + y, row);
    }
  }
  return true;
}

/// Paints what libpng had read when it failed between two rows, and leaves the others zero.
void finish_rows(const Context& context, const PngHeader& header, Painter& painter) {
  const Rect& frame = header.frame;
  if (header.interlaced) {
    for (std::int32_t y = 0; y < frame.height; ++y) {
      painter.paint(frame.top + y, context.rows + context.stride * static_cast<std::size_t>(y));
    }
    return;
  }
  const auto left = static_cast<std::int32_t>(context.rows_left);
  if (left > 0) std::memset(context.rows, 0, context.stride);
  for (std::int32_t y = frame.height - std::max(left, 1); y < frame.height; ++y) {
    painter.paint(frame.top + y, context.rows);
  }
}

}  // namespace

Status read(std::span<const std::uint8_t> bytes, const ImageInfo& info, const Rect& region,
            const DecodeOptions& options, Arena& arena, const ImageView& out) {
  const Result<PngHeader> header = read_header(bytes, options);
  if (!header.ok()) return header.error();
  if (header->extent != info.stored) {
    return decode_error(ErrorCode::kCorrupt, "the PNG has changed since it was inspected; inspect it again");
  }
  arena.rewind();
  auto* scratch = static_cast<std::uint8_t*>(arena.allocate(Painter::row_bytes(region)));
  if (scratch == nullptr) return arena.error();
  Painter painter(*header, options, region, out, scratch);
  Context context{.stream = PngStream(bytes, *header), .arena = arena};
  if (read_rows(context, *header, painter)) return ok_status();
  if (arena.exhausted()) return arena.error();
  const std::string_view message = context.message.data();
  // Behind the last row libpng looks for the end of the compressed data; Pillow does not, so a failure there is none.
  // Where those data end well between two rows, Pillow leaves the other rows as they are in a new picture.
  const bool missing = message == "Not enough image data";
  const bool complete = context.rows_left == 0;
  if (context.rows != nullptr && (complete || (missing && ends_with(context.inflated, {bytes, *header})))) {
    finish_rows(context, *header, painter);
    return ok_status();
  }
  const auto at = static_cast<std::int64_t>(context.stream.place());
  if (missing) {
    return decode_error(ErrorCode::kTruncated, "the PNG ends before its picture is complete; fetch the file again", at);
  }
  return decode_error(ErrorCode::kCorrupt, "libpng: " + std::string(message) + "; the file is damaged", at);
}

}  // namespace drapps::png
