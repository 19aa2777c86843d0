// Pictures that a device decodes: which of them go there, and how they come back. See picture_device.h.
#include <string>
#include <utility>

#include "drapps/decode/check.h"
#include "drapps/kernel/pixels.h"
#include "drapps/modality/device_part.h"
#include "drapps/modality/picture.h"
#include "drapps/modality/picture_device.h"
#include "drapps/source/array.h"

namespace drapps {

Result<std::shared_ptr<LateStage>> PicturePlan::late_stage(const std::shared_ptr<DeviceRoom>& room,
                                                           MemoryLedger& host) const {
  const auto unsupported = [](const char* why) {
    return Error{.code = ErrorCode::kUnsupported, .stage = Stage::kSetup, .message = why};
  };
  if (of() != kFirstPart) return unsupported("only the first pictures of records have an index to be decoded by");
  if (source_.rows() != nullptr) return unsupported("the pictures are rows of an array, which nobody decodes");
  if (spec_.decode.color == ColorMode::kIndices) return unsupported("masks are decoded on the CPU");
  const std::int32_t channels = spec_.decode.color == ColorMode::kGray ? 1 : 3;
  auto stage = PictureDevice::make(room, host, channels, late_writer(), device::keeps_pictures(spec_.ops));
  if (!stage.ok()) return std::move(stage).error();
  return std::shared_ptr<LateStage>(*std::move(stage));
}

/// The writer of the rows that a kernel makes of decoded pictures, by the ops and of nothing beside the picture; or why
/// no kernel does.
Result<const PictureWriter*> PicturePlan::late_writer() const {
  const auto alone = [](const char* what) {
    return Error{.code = ErrorCode::kUnsupported,
                 .stage = Stage::kAugment,
                 .message = std::string("a kernel of a device moves a picture alone, and the samples have ") + what};
  };
  if (mask_of_) return alone("masks");
  if (stages_.front().has_boxes) return alone("boxes");
  DRAPPS_RETURN_IF_ERROR(device::check_on_device(spec_.ops));
  return &writer_;
}

Status PicturePlan::note_ops(const PartDraws& draws, Picture& picture, Scratch& scratch, Trail& trail) const {
  for (std::size_t i = 0; i < spec_.ops.size(); ++i) {
    OpContext context{draws[i], scratch};
    context.trail = &trail;
    DRAPPS_RETURN_IF_ERROR(run(spec_.ops[i], picture, context));
    i += static_cast<std::size_t>(context.skip);
  }
  return ok_status();
}

bool PicturePlan::decode_late(Sample& sample, const PartDraws& draws, LateStage& decoder, LateSink& sink,
                              bool augment) const {
  PictureState& work = state(sample);
  auto& pictures = static_cast<PictureDevice&>(decoder);
  if (sample.read->at[of()].contents.decoded) return false;
  const bool kept_later = sample.keeper != nullptr && sample.keeper->form(of()) == cache::FormId::kPrepared;
  const bool augments = augment && pictures.writes(writer_) && !kept_later;
  const cache::View& kept = sample.kept.views[of()];
  if (kept && cache::is_array(kept.form())) {
    return augments && kept.form() != cache::FormId::kPrepared && augment_kept(sample, draws, pictures, sink);
  }
  const auto bytes = sample.read->bytes[of()];
  const auto info = work.decoder.inspect(bytes, spec_.decode);
  // What is wrong with a file, decode() says.
  if (!info.ok() || info->orientation != 1 || keeps_pixels(sample, info->extent)) return false;
  const jpeg::IndexUse index{
      work.indexes.get(), {sample.asked.record, sample.read->identity[of()]}, &sample.decoded.known};
  LateRequest request{.extent = info->extent,
                      .window = first_region(info->extent, draws),
                      .bytes = bytes,
                      .info = &*info,
                      .index = &index,
                      .row_there = sample.row_there};
  if (augments && !note_late_ops(work, draws, pictures, request)) return false;
  return pictures.list(sample, request, sink);
}

/// Lists pixels that the cache has of a picture, of which the device makes the row.
bool PicturePlan::augment_kept(Sample& sample, const PartDraws& draws, PictureDevice& pictures, LateSink& sink) const {
  PictureState& work = state(sample);
  const auto entry = sample.kept.views[of()].bytes();
  const auto extent = PictureForms::extent(entry);
  if (!extent.ok()) return false;
  LateRequest request{.extent = *extent, .window = first_region(*extent, draws), .row_there = sample.row_there};
  if (!check_region(request.window, *extent).ok()) return false;
  if (!note_late_ops(work, draws, pictures, request) || request.trail == nullptr) return false;
  const auto pixels = work.forms.read(entry, request.window, work.scratch.next_image_buffer());
  if (!pixels.ok() || pixels->channels != stages_.front().channels) return false;
  const ConstImageView view = *pixels;
  request.pixels = &view;
  return pictures.list(sample, request, sink);
}

/// Notes what ops make of a picture that a device is to augment; false where decode() says what is wrong with it. There
/// is no trail in the request where the picture is too large to be kept there: it is augmented here.
bool PicturePlan::note_late_ops(PictureState& work, const PartDraws& draws, const PictureDevice& pictures,
                                LateRequest& request) const {
  work.trail.clear();
  Picture picture;
  picture.image.channels = stages_.front().channels;
  picture.extent = request.extent;
  picture.window = request.window;
  if (!note_ops(draws, picture, work.scratch, work.trail).ok()) return false;
  if (form_ == RowForm::kBytes) work.trail.erasures.clear();  // note_erasures() has them when the row comes back
  if (device::kept_bytes(work.trail) <= pictures.most_kept()) request.trail = &work.trail;
  return true;
}

/// What ops erase of a picture that a device has augmented.
Status PicturePlan::note_erasures(const PartDraws& draws, PictureState& work) const {
  if (most_erasures() == 0) return ok_status();
  Picture picture;
  picture.image.channels = stages_.front().channels;
  picture.extent = work.picture.extent;
  picture.window = work.picture.window;
  work.trail.clear();
  DRAPPS_RETURN_IF_ERROR(note_ops(draws, picture, work.scratch, work.trail));
  work.picture.erasures = work.trail.erasures;
  return ok_status();
}

/// Pixels, or the finished row, that a device has made.
Status PicturePlan::enter_late(Sample& sample) const {
  PictureState& work = state(sample);
  Picture& picture = work.picture;
  const auto& late = *static_cast<const PictureDevice::Late*>(sample.late.get());
  sample.decoded.work = static_cast<std::uint64_t>(late.extent.height) * static_cast<std::uint64_t>(late.extent.width);
  picture.extent = late.extent;
  picture.window = late.window;
  if (late.augmented()) {
    work.row = late.row;
    work.row_there = late.row_there;
    work.ops = static_cast<std::uint32_t>(spec_.ops.size());
  } else {
    const std::int32_t channels = stages_.front().channels;
    const PixelLayout layout{.channels = channels,
                             .extent = {late.window.height, late.window.width},
                             .channel_stride = 1,
                             .row_stride = late.row_bytes,
                             .pixel_stride = channels};
    auto image = kernel::planes_of(layout, {late.pixels, late.bytes}, work.scratch.next_image_buffer());
    if (!image.ok()) return std::move(image).error();
    picture.image = *image;
  }
  const cache::View& kept = sample.kept.views[of()];
  if (!kept || !cache::is_array(kept.form())) keep_coefficients(sample);
  return ok_status();
}

}  // namespace drapps
