#include "drapps/device/jpeg_decoder.h"

#include <algorithm>
#include <span>
#include <utility>

#include "drapps/base/caught.h"

namespace drapps::device {

Result<std::unique_ptr<JpegDecoder>> JpegDecoder::make(Device& device, MemoryLedger& ledger, std::int32_t channels,
                                                       const JpegBounds& bounds) {
  std::unique_ptr<JpegDecoder> self;
  DRAPPS_RETURN_IF_ERROR(catching([&] { self.reset(new JpegDecoder(ledger, channels, bounds)); }));
  const std::size_t most_segments = bounds.input / sizeof(JpegSegment);
  struct Wanted {
    Memory* memory;
    Where where;
    std::size_t bytes;
  };
  for (const auto [memory, where, bytes] :
       {Wanted{&self->input_, Where::kPinned, bounds.input}, Wanted{&self->there_, Where::kDevice, bounds.input},
        Wanted{&self->work_, Where::kDevice, bounds.work}, Wanted{&self->verdicts_, Where::kPinned, most_segments}}) {
    auto allocated = device.allocate(where, bytes);
    if (!allocated.ok()) return std::move(allocated).error();
    *memory = *std::move(allocated);
  }
  return self;
}

Status JpegDecoder::launch(Stream& stream) {
  if (list_.pictures() == 0) return ok_status();
  const JpegList::JpegWork work = list_.put(input_.data(), there_.data(), work_.data());
  pixels_ = work.pixels.pixels;
  DRAPPS_RETURN_IF_ERROR(stream.copy_in(there_.data(), input_.data(), work.input));
  DRAPPS_RETURN_IF_ERROR(stream.launch(KernelId::kJpegHuffman, JpegHuffman::blocks(work.huffman), &work.huffman));
  DRAPPS_RETURN_IF_ERROR(stream.launch(KernelId::kJpegExpand, work.expand_blocks, &work.expand));
  const auto verdicts = static_cast<std::size_t>(work.huffman.count);
  DRAPPS_RETURN_IF_ERROR(
      stream.copy_out(verdicts_.data(), reinterpret_cast<const std::byte*>(work.huffman.right), verdicts));
  DRAPPS_RETURN_IF_ERROR(stream.launch(KernelId::kJpegTransform, work.transform_blocks, &work.transform));
  return stream.launch(KernelId::kJpegPixels, work.pixel_blocks, &work.pixels);
}

JpegDecoder::Pixels JpegDecoder::pixels(std::size_t i) const noexcept {
  const JpegPicture& picture = list_.picture(i);
  return {.first = pixels_ + picture.first_row * list_.row_bytes(),
          .extent = {picture.height, picture.width},
          .row_bytes = list_.row_bytes()};
}

bool JpegDecoder::right(std::size_t i) const noexcept {
  const auto ends = list_.segment_ends();
  const std::size_t first = i == 0 ? 0 : ends[i - 1];
  const std::span segments(verdicts_.data() + first, ends[i] - first);
  return std::all_of(segments.begin(), segments.end(), [](std::byte each) { return each == std::byte{1}; });
}

}  // namespace drapps::device
