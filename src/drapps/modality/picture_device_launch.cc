// What a device is asked for of a group of pictures.
#include "drapps/base/clock.h"
#include "drapps/device/aligned.h"
#include "drapps/device/kernel/augment.h"
#include "drapps/modality/picture_group.h"

namespace drapps {

Status PictureDevice::launch(Group& group) {
  group.launched_ns = monotonic_ns();
  if (lost_) return Error{.code = ErrorCode::kDeviceLost, .stage = Stage::kDecode, .message = "the device was lost"};
  if (!group.spoilt) {
    DRAPPS_RETURN_IF_ERROR(group.decoder->launch(*stream_));
    DRAPPS_RETURN_IF_ERROR(augment(group));
    DRAPPS_RETURN_IF_ERROR(copy_back(group));
  }
  DRAPPS_RETURN_IF_ERROR(stream_->record(*group.ended));
  return stream_->pause();
}

/// Makes rows of the pictures that are augmented there, and copies those back that do not stay.
Status PictureDevice::augment(Group& group) {
  if (group.augmented.empty()) return ok_status();
  std::size_t rows_back = 0;  // bytes
  const std::size_t bytes = list_augmented(group, rows_back).ok() ? group.list.bytes() : 0;
  if (bytes == 0 || bytes > sizes_.lists ||
      group.list.device_bytes() > sizes_.lists + group.kept + group.listed_bytes) {
    group.spoilt = true;  // by pictures of which each line takes so many numbers that no photograph has them
    return ok_status();
  }
  device::AugmentArguments arguments = device::arguments_of(*writer_);
  if (group.decoder->pictures() > 0) {
    const device::JpegDecoder::Pixels first = group.decoder->pixels(0);
    arguments.pictures = first.first;
    arguments.row_stride = first.row_bytes;
  }
  arguments.channel_stride = 1;
  arguments.pixel_stride = arguments.picture_channels = channels_;
  arguments.table = table_.data();
  arguments.out = reinterpret_cast<std::uint8_t*>(group.rows_there.data());
  group.list.put(group.lists.data(), group.lists_there.data(), arguments);
  DRAPPS_RETURN_IF_ERROR(stream_->copy_in(group.lists_there.data(), group.lists.data(), bytes));
  for (const ListedPixels& listed : group.listed) {
    auto* const there = reinterpret_cast<std::byte*>(arguments.kept + listed.place);
    DRAPPS_RETURN_IF_ERROR(stream_->copy_in(there, group.pixels.data() + listed.at, listed.bytes));
  }
  DRAPPS_RETURN_IF_ERROR(group.list.launch(*stream_, arguments));
  return rows_back == 0 ? ok_status() : stream_->copy_out(group.rows.data(), group.rows_there.data(), rows_back);
}

/// What is to be done with each picture that is augmented, and where its row goes.
Status PictureDevice::list_augmented(Group& group, std::size_t& rows_back) {
  group.list.clear();
  const Dtype dtype = writer_->format().dtype;
  auto listed = group.listed.begin();
  for (std::size_t row = 0; row < group.augmented.size(); ++row) {
    auto& [sample, sink, late, number] = group.waiting[group.augmented[row]];
    const Trail& trail = group.trails[row];
    auto out = static_cast<std::int64_t>(rows_back);
    if (late.row_there != nullptr) {
      out = device::bytes_between(group.rows_there.data(), late.row_there);
    } else {
      late.row = group.rows.data() + rows_back;
      rows_back += writer_->bytes();
    }
    if (number) {
      const device::JpegDecoder::Pixels pixels = group.decoder->pixels(*number);
      const std::int64_t origin = late.window.top * pixels.row_bytes + late.window.left * std::int64_t{channels_};
      const std::int64_t first = pixels.first - group.decoder->pixels(0).first;
      DRAPPS_RETURN_IF_ERROR(group.list.add(first - origin, out, trail, dtype));
    } else {
      const auto place = group.list.add_window(late.window, channels_, out, trail, dtype);
      if (!place.ok()) return place.error();
      (listed++)->place = *place;
    }
  }
  return ok_status();
}

/// Copies the pixels of the pictures that are not augmented back: neighbours by one copy.
Status PictureDevice::copy_back(Group& group) {
  if (group.spoilt || group.decoder->pictures() == 0) return ok_status();
  const std::uint8_t* const first = group.decoder->pixels(0).first;
  std::size_t begin = 0, end = 0;  // of what is to be copied
  const auto copy = [&]() -> Status {
    if (begin == end) return ok_status();
    return stream_->copy_out(group.pixels.data() + begin, reinterpret_cast<const std::byte*>(first) + begin,
                             end - begin);
  };
  for (auto& [sample, sink, late, number] : group.waiting) {
    if (late.augmented()) continue;
    const device::JpegDecoder::Pixels pixels = group.decoder->pixels(*number);
    const auto at = static_cast<std::size_t>(pixels.first - first);
    late.row_bytes = pixels.row_bytes;
    late.bytes = static_cast<std::size_t>(pixels.row_bytes) * static_cast<std::size_t>(pixels.extent.height);
    late.pixels = reinterpret_cast<const std::uint8_t*>(group.pixels.data()) + at;
    if (at != end) {
      DRAPPS_RETURN_IF_ERROR(copy());
      begin = at;
    }
    end = at + late.bytes;
  }
  return copy();
}

}  // namespace drapps
