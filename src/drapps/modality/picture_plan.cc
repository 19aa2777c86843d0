// What a described picture is at each place of its way, and the columns of a batch that come of it.
#include <algorithm>
#include <cstring>
#include <utility>

#include "drapps/kernel/gather.h"
#include "drapps/kernel/pixels.h"
#include "drapps/modality/device_part.h"
#include "drapps/modality/picture.h"
#include "drapps/source/array.h"

namespace drapps {
namespace {

// How many pictures ahead are prefetched, and of each no more bytes than the hardware's prefetcher needs to see.
constexpr std::size_t kPicturesAhead = 4;
constexpr std::size_t kBytesAhead = 1024;

// The most erasures of one picture that is carried to a device, some 50 bytes each.
constexpr std::size_t kMostErasures = 64;

TensorFormat carried_bytes() { return {.dtype = Dtype::kUint8, .scale = false}; }

/// What the decoder makes of any record of the source, or what its array of pictures holds.
PictureSpec decoded(const PicturePart& spec, const std::string& name, const Source& source) {
  if (const PictureArray* pictures = pictures_of(source)) {
    return {.channels = pictures->layout.channels, .extent = pictures->layout.extent, .fixed = true};
  }
  return {.channels = spec.decode.color == ColorMode::kRgb ? 3 : 1,
          .has_mask = mask_of(name, source).has_value(),
          .has_boxes = image_of(name, source) == kFirstPart && source.targets().has_boxes()};
}

/// Whether all labels can be mixed.
Status check_labels(const Mixer& mixer, const Source& source) {
  if (source.rows() == nullptr) {
    const auto& labels = source.targets().labels;
    if (labels.empty()) return invalid("mix: the source has no labels to mix; give it labels, or do not mix");
    return mixer.check_labels(labels.front().values);
  }
  const Array* const array = label_array(source);
  if (array == nullptr) {
    return invalid("mix: there is no array \"label\" of a whole number for each row; give one, or do not mix");
  }
  std::vector<std::int64_t> labels(array->rows);
  for (std::uint64_t row = 0; row < array->rows; ++row) labels[row] = label_at(*array, row);
  return mixer.check_labels(labels);
}

/// Ops that are left out for some samples.
struct OpGroup {
  std::size_t end;    // number of the op behind them
  PictureSpec given;  // what comes before them
};

Result<std::vector<PictureSpec>> infer_all(const PicturePart& spec, const std::string& name, const Source& source) {
  std::vector<PictureSpec> stages{decoded(spec, name, source)};
  std::vector<OpGroup> open;
  for (std::size_t i = 0; i < spec.ops.size(); ++i) {
    const std::string where = "op " + std::to_string(i + 1) + " (" + std::string(tag_of(spec.ops[i])) + "): ";
    if (Status status = check(spec.ops[i]); !status.ok()) return invalid(where + status.error().message);
    auto stage = infer(spec.ops[i], stages.back());
    if (!stage.ok()) return invalid(where + stage.error().message);
    stages.push_back(*stage);
    if (const auto* sometimes = std::get_if<RandomApply>(&spec.ops[i])) {
      const std::size_t end = i + 1 + static_cast<std::size_t>(sometimes->count);
      if (end > (open.empty() ? spec.ops.size() : open.back().end)) {
        return invalid(where + "it covers more ops than there are behind it");
      }
      open.push_back({end, *stage});
    }
    for (; !open.empty() && open.back().end == i + 1; open.pop_back()) {
      auto both = either(open.back().given, stages.back());
      if (!both.ok()) return invalid(where + both.error().message);
      stages.back() = *both;
    }
  }
  if (!stages.back().fixed) {
    return invalid(
        "the pictures have no common size, so they make no batch: "
        "add random_resized_crop, center_crop, random_crop or resize(height, width)");
  }
  return stages;
}

}  // namespace

Result<std::shared_ptr<PartPlan>> PicturePart::plan(const std::string& name, std::size_t place,
                                                    const Source& source) const {
  if (source.rows() == nullptr || pictures_of(source) != nullptr) return PicturePlan::make(*this, name, place, source);
  if (!ops.empty()) {
    return invalid("op 1 (" + std::string(tag_of(ops[0])) + ") has no pictures to work on: say which array holds them");
  }
  if (mix) return invalid("mix: the source has no pictures to mix");
  return std::shared_ptr<PartPlan>();
}

Result<std::shared_ptr<PartPlan>> PicturePlan::make(const PicturePart& spec, const std::string& name, std::size_t place,
                                                    const Source& source, RowForm form) {
  auto stages = infer_all(spec, name, source);
  if (!stages.ok()) return std::move(stages).error();
  const PictureSpec last = stages->back();
  auto writer = PictureWriter::make(form == RowForm::kBytes ? carried_bytes() : spec.tensor, last);
  if (!writer.ok()) return std::move(writer).error();
  const PictureArray* pictures = pictures_of(source);
  std::shared_ptr<PicturePlan> plan(new PicturePlan(spec, pictures != nullptr ? pictures->name : name, place, source,
                                                    *std::move(stages), *writer, form));
  if (last.has_mask) {
    auto mask = MaskWriter::make(spec.mask.dtype, last);
    if (!mask.ok()) return std::move(mask).error();
    plan->mask_ = *mask;
  }
  if (spec.mix) {
    auto mixer = Mixer::make(*spec.mix, spec.tensor, last);
    if (!mixer.ok()) return std::move(mixer).error();
    DRAPPS_RETURN_IF_ERROR(check_labels(*mixer, source));
    plan->mixer_ = *std::move(mixer);
  }
  // Behind an erasure there are only erasures, which are made in the finished row.
  const auto& all = plan->stages_;
  const auto look = std::find_if(all.rbegin(), all.rend(), [](const PictureSpec& stage) { return !stage.erased; });
  const auto drawn = std::find_if(spec.ops.begin(), spec.ops.end(), [](const Op& op) { return draws(op); });
  plan->fixed_ops_ = static_cast<std::size_t>(drawn - spec.ops.begin());
  plan->last_look_ = static_cast<std::size_t>(std::max<std::ptrdiff_t>(all.rend() - look - 2, 0));
  return std::shared_ptr<PartPlan>(std::move(plan));
}

Status PicturePlan::add_columns(BatchColumns& columns) {
  const TensorFormat format = form_ == RowForm::kBytes ? carried_bytes() : spec_.tensor;
  auto shape = format.infer(stages_.back());
  if (!shape.ok()) return std::move(shape).error();
  if (source_.rows() != nullptr && spec_.ops.empty()) {
    image_column_ = columns.layout.add(name_, format.dtype, *std::move(shape));
    columns.gatherers.push_back({image_column_, [this](const RowRun& run, std::size_t& next, std::byte* first) {
                                   return gather(run, next, first);
                                 }});
  } else {
    image_column_ = columns.add(name_, format.dtype, *std::move(shape), [this](const Sample& sample, std::byte* row) {
      return write_image(state(sample), row);
    });
  }
  if (mixer_) {
    columns.first_label =
        LabelFormat{.row_shape = {mixer_->classes()},
                    .check = [this](std::int64_t label) { return mixer_->check_label(label); },
                    .write = [this](std::int64_t label, std::byte* row) { mixer_->write_label(label, row); }};
  }
  return ok_status();
}

/// A finished sample's row of the column of pictures.
Status PicturePlan::write_image(PictureState& work, std::byte* row) const {
  if (form_ == RowForm::kBytes) {  // bytes cannot hold an erasure's normalised numbers
    work.erasures.clear();
    std::swap(work.erasures, work.picture.erasures);
  }
  if (!work.finished()) return writer_.write(work.picture, row);
  if (work.row != nullptr) std::memcpy(row, work.row, writer_.bytes());
  return ok_status();
}

/// The most erasures of a row.
std::size_t PicturePlan::most_erasures() const noexcept {
  std::size_t most = 0;
  for (const Op& op : spec_.ops) {
    if (const auto* erasing = std::get_if<RandomErasing>(&op)) most += static_cast<std::size_t>(erasing->max_count);
  }
  return most;
}

Result<CarriedPart> PicturePlan::carried() const {
  const auto unsupported = [](const char* why) {
    return Error{.code = ErrorCode::kUnsupported, .stage = Stage::kSetup, .message = why};
  };
  if (size_of(spec_.tensor.dtype) == 1) return unsupported("the pictures of a batch are bytes as they are");
  if (most_erasures() > kMostErasures) return unsupported("a picture has more erasures than a batch carries");
  auto part = make(spec_, name_, place(), source_, RowForm::kBytes);
  if (!part.ok()) return std::move(part).error();
  return CarriedPart{.part = *std::move(part),
                     .finished = {.column = image_column_,
                                  .writer = &writer_,
                                  .mixer = mixer_ ? &*mixer_ : nullptr,
                                  .mix_draws = spec_.ops.size()},
                     .erasures = most_erasures()};
}

void PicturePlan::add_carried_columns(BatchColumns& columns) {
  if (source_.rows() == nullptr) {
    columns.rows_there = {.column = image_column_, .addresses = columns.layout.columns().size()};
    columns.add_number<std::int64_t>("addresses", Dtype::kInt64, [this](const Sample& sample) {
      return reinterpret_cast<std::intptr_t>(state(sample).row_there);
    });
  }
  const std::size_t most = most_erasures();
  if (most == 0) return;
  columns.add("erasures", Dtype::kUint8, {static_cast<std::int64_t>(erasures_bytes(most))},
              [this](const Sample& sample, std::byte* row) {
                write_erasures(state(sample).erasures, row);
                return ok_status();
              });
}

void PicturePlan::add_target_columns(BatchColumns& columns) {
  const Extent extent = stages_.back().extent;
  if (mask_ && mask_of_) {
    std::vector<std::int64_t> shape{extent.height, extent.width};
    if (spec_.mask.channel) shape.insert(shape.begin(), 1);
    columns.add(
        "mask", spec_.mask.dtype, std::move(shape),
        [this](const Sample& sample, std::byte* row) { return mask_->write(state(sample).picture, row); }, *mask_of_);
  }
  if (!stages_.back().has_boxes) return;
  const auto room = static_cast<std::size_t>(spec_.max_boxes);
  columns.add("boxes", Dtype::kFloat32, {spec_.max_boxes, 4},
              [this, room](const Sample& sample, std::byte* row) -> Status {
                auto count = write_boxes(state(sample).picture, {reinterpret_cast<float*>(row), 4 * room});
                if (!count.ok()) return std::move(count).error();
                return ok_status();
              });
  columns.add("box_labels", Dtype::kInt64, {spec_.max_boxes}, [this, room](const Sample& sample, std::byte* row) {
    write_box_values(state(sample).picture, source_.boxes(sample.asked.record).labels,
                     {reinterpret_cast<std::int64_t*>(row), room});
    return ok_status();
  });
  columns.add_number<std::int64_t>("box_counts", Dtype::kInt64,
                                   [this](const Sample& sample) { return state(sample).picture.boxes.size(); });
}

/// Pictures that nothing is done to: their bytes become numbers on the way from the array to the batch.
Status PicturePlan::gather(const RowRun& run, std::size_t& next, std::byte* first) const {
  const PictureArray& all = *pictures_of(source_);
  const auto pixels =
      static_cast<std::size_t>(all.layout.extent.height) * static_cast<std::size_t>(all.layout.extent.width);
  const std::size_t bytes = std::min(pixels * static_cast<std::size_t>(all.layout.channels), kBytesAhead);
  const std::uint8_t* const end = all.end();
  ImageBuffer& copy = static_cast<PictureState&>(state_of(run.workspace)).scratch.next_image_buffer();
  for (; next < run.rows.size(); ++next) {
    if (next + kPicturesAhead < run.rows.size()) kernel::prefetch(all.row(run.rows[next + kPicturesAhead]), bytes);
    auto line = kernel::lines_of(all.layout, {all.row(run.rows[next]), end}, copy);
    if (!line.ok()) return std::move(line).error();
    writer_.write_pixels(*line, first + writer_.bytes() * next);
  }
  return ok_status();
}

void PicturePlan::finish(const BatchColumns& columns, std::byte* slot, std::uint32_t rows,
                         const PartDraws& draws) const {
  if (!mixer_ || !columns.first_label) return;
  mixer_->run(columns.layout.row(slot, image_column_, 0), columns.layout.row(slot, columns.first_label->column, 0),
              rows, draws[spec_.ops.size()]);
}

std::optional<std::string> PicturePlan::made_with(cache::FormId form) const {
  if (!cache::is_array(form)) return "";
  nlohmann::json spec = spec_.to_json();
  nlohmann::json shows{{"decode", spec["decode"]}, {"foreign", spec_.foreign != nullptr}};
  if (form == cache::FormId::kPrepared && fixed_ops_ > 0) {
    if (mask_of_ || stages_.front().has_boxes) return {};
    shows["ops"] = nlohmann::json(spec["ops"].begin(), spec["ops"].begin() + static_cast<std::ptrdiff_t>(fixed_ops_));
  }
  return shows.dump();
}

nlohmann::json PicturePlan::stages() const {
  nlohmann::json stages = nlohmann::json::array();
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    const PictureSpec& stage = stages_[i];
    stages.push_back({{"op", i == 0 ? "decode" : std::string(tag_of(spec_.ops[i - 1]))},
                      {"channels", stage.channels},
                      {"height", stage.extent.height},
                      {"width", stage.extent.width},
                      {"fixed_size", stage.fixed}});
  }
  return stages;
}

}  // namespace drapps
