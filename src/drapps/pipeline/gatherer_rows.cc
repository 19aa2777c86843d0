// The filling half of the gatherer: from rows of arrays to rows of a slot.
#include <algorithm>
#include <cstring>

#include "drapps/kernel/gather.h"
#include "drapps/pipeline/gatherer.h"

namespace drapps {
namespace {

// Pictures asked of memory before their turn, and of each no more than the hardware's prefetcher needs to see.
constexpr std::size_t kPicturesAhead = 4;
constexpr std::size_t kBytesAhead = 1024;

}  // namespace

void Gatherer::gather(const Run& run, Hand& hand) {
  hand.records.resize(run.rows);
  sampler_.indices(run.step, run.first, hand.records);
  hand.rows = hand.records;
  if (arrays_.is_subset()) {
    for (std::uint64_t& row : hand.rows) row = arrays_.row(row);
  }
  const BatchLayout& layout = plan_->layout;
  for (std::size_t i = 0; i < arrays_.columns().size(); ++i) {
    const Array& array = arrays_.columns()[i];
    const std::size_t column = plan_->columns.arrays[i];
    kernel::gather_rows(layout.row(run.slot, column, run.first), array.data, array.stride,
                        layout.columns()[column].row_bytes, hand.rows);
  }
  write_origin(run, hand);
  if (!plan_->picture) return;
  if (plan_->spec.ops.empty()) {
    convert_pictures(run, hand);
  } else {
    augment_pictures(run, hand);
  }
}

void Gatherer::write_origin(const Run& run, const Hand& hand) const {
  const Plan::Columns& columns = plan_->columns;
  const auto at = [&](std::size_t column) { return plan_->layout.row(run.slot, column, run.first); };
  std::memcpy(at(columns.index), hand.records.data(), run.rows * sizeof(std::uint64_t));
  const Sampler::Batch batch = sampler_.batch(run.step);
  const std::uint32_t real = batch.rows - batch.padded;
  auto* positions = reinterpret_cast<std::int64_t*>(at(columns.position));
  auto* flags = reinterpret_cast<std::uint8_t*>(at(columns.flags));
  for (std::uint32_t i = 0; i < run.rows; ++i) {
    positions[i] = static_cast<std::int64_t>(batch.first_position + run.first + i);
    flags[i] = run.first + i >= real ? kFlagPadded : std::uint8_t{0};
  }
}

void Gatherer::convert_pictures(const Run& run, Hand& hand) {
  const auto& writer = plan_->picture;
  if (!writer) return;
  const PictureArray& all = *arrays_.pictures();
  const auto pixels = static_cast<std::size_t>(all.extent.height) * static_cast<std::size_t>(all.extent.width);
  const std::size_t bytes = std::min(pixels * static_cast<std::size_t>(all.channels), kBytesAhead);
  for (std::uint32_t i = 0; i < run.rows; ++i) {
    if (i + kPicturesAhead < run.rows) {
      kernel::prefetch(all.data + static_cast<std::ptrdiff_t>(hand.rows[i + kPicturesAhead]) * all.stride, bytes);
    }
    auto flat = arrays_.flat_picture(hand.rows[i], hand.workspace.scratch.next_image_buffer());
    if (!flat.ok()) {
      engine_.workers().release_idle(*this);
      flat = arrays_.flat_picture(hand.rows[i], hand.workspace.scratch.next_image_buffer());
    }
    if (!flat.ok()) {
      hand.failed.emplace_back(run.first + i, std::move(flat).error());
      continue;
    }
    writer->write_pixels(*flat, plan_->layout.row(run.slot, plan_->columns.image, run.first + i));
  }
}

void Gatherer::augment_pictures(const Run& run, Hand& hand) {
  const std::uint64_t first_position = sampler_.batch(run.step).first_position + run.first;
  for (std::uint32_t i = 0; i < run.rows; ++i) {
    hand.task.index = hand.records[i];
    hand.task.row = {.position = first_position + i, .index = hand.records[i], .padded = false};
    hand.task.row_in_batch = run.first + i;
    Status status = augment_picture(run, hand);
    if (exhausted(status)) {
      hand.workspace.reset();
      engine_.workers().release_idle(*this);
      status = augment_picture(run, hand);
    }
    if (!status.ok()) hand.failed.emplace_back(run.first + i, std::move(status).error());
  }
}

/// The picture of a row, as it stands there.
Status Gatherer::take_picture(Hand& hand) {
  Sample& sample = hand.workspace.sample;
  auto picture = arrays_.picture(arrays_.row(hand.task.index), hand.workspace.scratch.next_image_buffer());
  if (!picture.ok()) {
    Error error = std::move(picture).error();
    error.path = source_->name(hand.task.index);
    error.index = static_cast<std::int64_t>(hand.task.index);
    return error;
  }
  sample.image = *picture;
  sample.extent = {picture->height, picture->width};
  sample.window = Rect{0, 0, picture->height, picture->width};
  sample.mirrored = false;
  sample.erasures.clear();
  return ok_status();
}

Status Gatherer::augment_picture(const Run& run, Hand& hand) {
  DRAPPS_RETURN_IF_ERROR(take_picture(hand));
  DRAPPS_RETURN_IF_ERROR(preparer_.augment(hand.task));
  const auto& writer = plan_->picture;
  if (!writer) return ok_status();
  return writer->write(hand.workspace.sample,
                       plan_->layout.row(run.slot, plan_->columns.image, hand.task.row_in_batch));
}

}  // namespace drapps
