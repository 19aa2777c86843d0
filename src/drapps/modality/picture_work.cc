// What is done with each picture: from what was fetched to what its row is written from.
#include <span>
#include <string>
#include <utility>

#include "drapps/augment/picture/checks.h"
#include "drapps/base/clock.h"
#include "drapps/decode/check.h"
#include "drapps/decode/jpeg/index_memory.h"
#include "drapps/decode/sniff.h"
#include "drapps/device/augment_list.h"
#include "drapps/kernel/pixels.h"
#include "drapps/modality/device_part.h"
#include "drapps/modality/picture.h"
#include "drapps/source/array.h"

namespace drapps {
namespace {

Error about(RecordPart part, Error error, const Sample& sample) {
  error.path = sample.source->name(sample.asked.record, part);
  return error;
}

/// What is said of a picture that nobody could read.
/// @param unread   what was said of it here.
/// @param foreign  what the description's reader said.
std::string foreign_message(std::span<const std::uint8_t> bytes, const Error& unread, const std::string& foreign) {
  if (sniff(bytes).ok()) return unread.message + " (" + foreign + ")";
  return "this looks like " + std::string(looks_like(bytes)) + ", which cannot be read (" + foreign +
         "); fetch it again, or leave it out of the data set";
}

std::uint64_t pixels_of(Extent extent) noexcept {
  return static_cast<std::uint64_t>(extent.height) * static_cast<std::uint64_t>(extent.width);
}

}  // namespace

std::unique_ptr<PartState> PicturePlan::new_state(MemoryLedger& ledger,
                                                  const std::shared_ptr<LearnedStore>& learned) const {
  // Indexes are of the records' first pictures.
  auto indexes = of() == kFirstPart ? std::dynamic_pointer_cast<jpeg::IndexStore>(learned) : nullptr;
  return std::make_unique<PictureState>(ledger, std::move(indexes));
}

std::shared_ptr<LearnedStore> PicturePlan::new_store(MemoryLedger& ledger, std::uint64_t records,
                                                     std::size_t budget) const {
  if (of() != kFirstPart) return nullptr;
  return std::make_shared<jpeg::MemoryIndexStore>(ledger, records, budget);
}

void PicturePlan::report(const LearnedStore& learned, nlohmann::json& root) const {
  const auto known = dynamic_cast<const jpeg::MemoryIndexStore&>(learned).statistics();
  root["jpeg_index"] = {{"samples", known.records},     {"complete", known.complete}, {"entries", known.entries},
                        {"coverage", known.coverage()}, {"bytes", learned.bytes()},   {"refused", known.refused}};
}

/// What the first op reads of a picture.
Rect PicturePlan::first_region(Extent whole, const PartDraws& draws) const {
  return spec_.ops.empty() ? geometry::whole_rect(whole) : region(spec_.ops.front(), whole, draws[0]);
}

Status PicturePlan::decode(Sample& sample, const PartDraws& draws) const {
  PictureState& work = state(sample);
  Picture& picture = work.picture;
  picture.mirrored = false;
  picture.mask.reset();
  picture.erasures.clear();
  picture.boxes.clear();
  picture.box_rows.clear();
  work.ops = 0;
  work.row = work.row_there = nullptr;
  if (sample.read->at[of()].contents.decoded) return enter_decoded(sample);
  const cache::View& kept = sample.kept.views[of()];
  DRAPPS_RETURN_IF_ERROR(sample.late != nullptr                 ? enter_late(sample)
                         : kept && cache::is_array(kept.form()) ? enter_kept(sample, draws)
                                                                : decode_image(sample, draws));
  if (work.finished() && form_ == RowForm::kBytes) DRAPPS_RETURN_IF_ERROR(note_erasures(draws, work));
  if (work.ops > 0 && !work.finished()) return ok_status();
  sample.source->remember_work(sample.asked.record, pixels_of(picture.extent));
  const BoxRange boxes = stages_.front().has_boxes ? source_.boxes(sample.asked.record) : BoxRange{};
  for (std::size_t i = 0; i < boxes.boxes.size(); ++i) {
    picture.boxes.push_back(boxes.boxes[i]);
    picture.box_rows.push_back(static_cast<std::int32_t>(i));
  }
  return mask_of_ ? decode_mask(sample, *mask_of_) : ok_status();
}

/// Pixels that lie in memory, perhaps with some ops behind them.
Status PicturePlan::enter_decoded(Sample& sample) const {
  PictureState& work = state(sample);
  const Contents& contents = sample.read->at[of()].contents;
  if (contents.ops > fixed_ops() || mask_of_ || stages_.front().has_boxes) {
    return invalid("pictures with " + std::to_string(contents.ops) + " ops behind them do not fit: the first " +
                   std::to_string(fixed_ops()) + " draw nothing, and masks and boxes come with encoded pictures");
  }
  auto image = kernel::planes_of(contents.layout, sample.read->bytes[of()], work.scratch.next_image_buffer());
  if (!image.ok()) return std::move(image).error();
  Picture& picture = work.picture;
  picture.image = *image;
  picture.extent = {image->height, image->width};
  picture.window = geometry::whole_rect(picture.extent);
  work.ops = contents.ops;
  return ok_status();
}

/// Pixels that an earlier pass left in the cache, perhaps with the ops behind them that draw nothing.
Status PicturePlan::enter_kept(Sample& sample, const PartDraws& draws) const {
  PictureState& work = state(sample);
  Picture& picture = work.picture;
  const cache::View& kept = sample.kept.views[of()];
  auto extent = PictureForms::extent(kept.bytes());
  if (!extent.ok()) return std::move(extent).error();
  if (kept.form() == cache::FormId::kPrepared) work.ops = static_cast<std::uint32_t>(fixed_ops_);
  if (work.ops == 0) sample.decoded.work = pixels_of(*extent);
  picture.extent = *extent;
  picture.window = geometry::whole_rect(*extent);
  if (work.ops == 0) picture.window = first_region(*extent, draws);
  DRAPPS_RETURN_IF_ERROR(check_region(picture.window, *extent));
  auto image = work.forms.read(kept.bytes(), picture.window, work.scratch.next_image_buffer());
  if (!image.ok()) return std::move(image).error();
  picture.image = *image;
  return ok_status();
}

/// Whether all of a picture is decoded, because all of it is to be kept.
bool PicturePlan::keeps_pixels(Sample& sample, Extent extent) const noexcept {
  if (sample.keeper == nullptr) return false;
  const cache::FormId form = sample.keeper->form(of());
  if (!cache::is_array(form) || (form == cache::FormId::kPrepared && fixed_ops_ > 0)) return false;
  return sample.keeper->wants(sample.request(), of(),
                              PictureForms::least_bytes(form, stages_.front().channels, extent));
}

/// Whether what the ops that draw nothing have made is to be kept.
bool PicturePlan::keeps_prepared(Sample& sample) const noexcept {
  if (sample.keeper == nullptr || sample.keeper->form(of()) != cache::FormId::kPrepared) return false;
  const Picture& picture = state(sample).picture;
  const bool plain = !picture.mirrored && picture.erasures.empty() &&
                     picture.window == geometry::whole_rect(picture.extent) &&
                     picture.extent == Extent{picture.image.height, picture.image.width};
  return plain && sample.keeper->wants(
                      sample.request(), of(),
                      PictureForms::least_bytes(cache::FormId::kPrepared, picture.image.channels, picture.extent));
}

/// The pixels as they are now, in an array form.
/// @param saved_ns  of work that having them saves.
void PicturePlan::keep_image(Sample& sample, std::uint64_t saved_ns) const {
  PictureState& work = state(sample);
  const cache::FormId form = sample.keeper->form(of());
  sample.keeper->offer(sample.request(), of(), saved_ns, [&] { return work.forms.encode(form, work.picture.image); });
}

/// Keeps the coefficients of a JPEG, where they are the form that it is kept in.
void PicturePlan::keep_coefficients(Sample& sample) const {
  if (sample.keeper == nullptr || sample.keeper->form(of()) != cache::FormId::kCoefficients) return;
  const cache::View& kept = sample.kept.views[of()];
  if (kept && kept.form() == cache::FormId::kCoefficients) return;
  const auto bytes = sample.read->bytes[of()];
  if (!sample.keeper->wants(sample.request(), of(), bytes.size())) return;
  sample.keeper->offer(sample.request(), of(), 0, [&] { return state(sample).forms.coefficients(bytes); });
}

/// Leaves of a whole picture what the first op reads.
Status PicturePlan::cut(Picture& picture, const PartDraws& draws) const {
  picture.window = first_region(picture.extent, draws);
  DRAPPS_RETURN_IF_ERROR(check_region(picture.window, picture.extent));
  picture.image = picture.image.crop(picture.window);
  return ok_status();
}

/// A picture that only the description's reader knows, read whole and cut to what the first op reads.
Status PicturePlan::read_foreign(Sample& sample, const PartDraws& draws, const Error& unread) const {
  PictureState& work = state(sample);
  const auto bytes = sample.read->bytes[of()];
  auto image = spec_.foreign->read(bytes, work.scratch.next_image_buffer());
  if (!image.ok()) {
    Error error = std::move(image).error();
    if (error.code == ErrorCode::kUnsupported) {
      error.message = foreign_message(bytes, unread, error.message);
      error.offset = unread.offset;
    }
    return error;
  }
  Picture& picture = work.picture;
  picture.extent = {image->height, image->width};
  picture.image = *image;
  if (keeps_pixels(sample, picture.extent)) keep_image(sample, 0);
  return cut(picture, draws);
}

/// The part of the picture that the first op reads.
Status PicturePlan::decode_image(Sample& sample, const PartDraws& draws) const {
  PictureState& work = state(sample);
  Picture& picture = work.picture;
  const auto bytes = sample.read->bytes[of()];
  auto info = work.decoder.inspect(bytes, spec_.decode);
  const bool foreign = spec_.foreign != nullptr && spec_.decode.color == ColorMode::kRgb;
  if (!info.ok() && info.error().code == ErrorCode::kUnsupported && foreign) {
    return read_foreign(sample, draws, info.error());
  }
  if (!info.ok()) return std::move(info).error();
  sample.decoded.work = pixels_of(info->extent);
  picture.extent = info->extent;
  // A mask is decoded whole and cut to the same window, so the two always match.
  const bool whole = keeps_pixels(sample, info->extent);
  picture.window = whole ? geometry::whole_rect(info->extent) : first_region(info->extent, draws);
  const jpeg::IndexUse index{
      work.indexes.get(), {sample.asked.record, sample.read->identity[of()]}, &sample.decoded.known};
  const std::uint64_t begun = monotonic_ns();
  auto image = work.decoder.decode(bytes, *info, picture.window, spec_.decode, work.scratch.next_image_buffer(),
                                   work.indexes == nullptr || sample.decoded.distrusted ? nullptr : &index);
  if (!image.ok()) return std::move(image).error();
  picture.image = *image;
  if (whole) {
    keep_image(sample, monotonic_ns() - begun);
    return cut(picture, draws);
  }
  keep_coefficients(sample);
  return ok_status();
}

Status PicturePlan::decode_mask(Sample& sample, RecordPart part) const {
  PictureState& work = state(sample);
  Picture& picture = work.picture;
  const auto bytes = sample.read->bytes[part];
  DecodeOptions options = spec_.decode;
  options.color = ColorMode::kIndices;
  auto info = work.decoder.inspect(bytes, options);
  if (!info.ok()) return about(part, std::move(info).error(), sample);
  if (info->extent != picture.extent) {
    return about(part,
                 Error{.code = ErrorCode::kCorrupt,
                       .stage = Stage::kDecode,
                       .message = "the mask has " + to_string(info->extent) + " pixels and its image " +
                                  to_string(picture.extent) + "; make them equal"},
                 sample);
  }
  auto mask = work.decoder.decode(bytes, *info, picture.window, options, work.scratch.next_mask_buffer());
  if (!mask.ok()) return about(part, std::move(mask).error(), sample);
  picture.mask = *mask;
  return ok_status();
}

Result<DevicePart> PicturePlan::on_device() const {
  if (pictures_of(source_) == nullptr) {
    return Error{.code = ErrorCode::kUnsupported, .message = "the pictures lie in files, which the CPU decodes"};
  }
  DRAPPS_RETURN_IF_ERROR(device::check_on_device(spec_.ops));
  return DevicePart{
      .column = image_column_, .writer = &writer_, .mixer = mixer_ ? &*mixer_ : nullptr, .mix_draws = spec_.ops.size()};
}

Status PicturePlan::note_trail(const PartDraws& draws, Scratch& scratch, Trail& trail) const {
  Picture picture;
  picture.image.channels = stages_.front().channels;
  picture.extent = stages_.front().extent;
  picture.window = geometry::whole_rect(picture.extent);
  return note_ops(draws, picture, scratch, trail);
}

Status PicturePlan::augment(Sample& sample, const PartDraws& draws) const {
  PictureState& work = state(sample);
  for (std::size_t i = work.ops; i < spec_.ops.size(); ++i) {
    if (i == fixed_ops_ && i > work.ops && keeps_prepared(sample)) keep_image(sample, 0);
    OpContext context{draws[i], work.scratch, i == last_look_};
    DRAPPS_RETURN_IF_ERROR(run(spec_.ops[i], work.picture, context));
    i += static_cast<std::size_t>(context.skip);
  }
  const bool all_fixed = fixed_ops_ == spec_.ops.size() && fixed_ops_ > work.ops;
  if (all_fixed && keeps_prepared(sample)) keep_image(sample, 0);
  return ok_status();
}

}  // namespace drapps
