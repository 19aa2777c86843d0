#include "drapps/device/mix_launch.h"

#include "drapps/device/kernel/mix.h"

namespace drapps::device {
namespace {

MixArguments blend_of(std::byte* rows, std::size_t row_bytes, std::size_t element_bytes, const MixDraw& draw) {
  return {.rows = reinterpret_cast<std::uint8_t*>(rows),
          .row_bytes = static_cast<std::int64_t>(row_bytes),
          .elements = static_cast<std::int64_t>(row_bytes / element_bytes),
          .element_bytes = static_cast<std::int32_t>(element_bytes),
          .own_share = static_cast<float>(draw.lambda),
          .before_share = static_cast<float>(1 - draw.lambda)};
}

}  // namespace

Status launch_mix(Stream& stream, const MixedColumns& columns, const PictureWriter& writer, const MixDraw& draw) {
  if (columns.rows == 0 || draw.kind == MixDraw::MixKind::kNone) return ok_status();
  const kernel::RowFormat format = writer.format();
  MixArguments pictures = blend_of(columns.pictures, writer.bytes(), size_of(format.dtype), draw);
  if (draw.kind == MixDraw::MixKind::kCutMix) {
    pictures.cut = 1;
    pictures.interleaved = format.layout == Layout::kNhwc ? 1 : 0;
    pictures.channels = writer.channels();
    pictures.height = writer.extent().height;
    pictures.width = writer.extent().width;
    pictures.box_top = draw.box.top;
    pictures.box_left = draw.box.left;
    pictures.box_height = draw.box.height;
    pictures.box_width = draw.box.width;
    pictures.elements = std::int64_t{draw.box.height} * draw.box.width * writer.channels();
  }
  MixArguments labels =
      blend_of(columns.labels, static_cast<std::size_t>(columns.classes) * sizeof(float), sizeof(float), draw);
  pictures.count = labels.count = columns.rows;
  DRAPPS_RETURN_IF_ERROR(stream.launch(KernelId::kMix, MixPixels::blocks(pictures), &pictures));
  return stream.launch(KernelId::kMix, MixPixels::blocks(labels), &labels);
}

}  // namespace drapps::device
