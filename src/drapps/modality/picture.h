// Pictures, with the mask and the boxes that belong to them: what is decoded is a picture as data/picture.h has it, and
// what it goes through are the ops of augment/ops.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "drapps/augment/picture/ops.h"
#include "drapps/augment/picture/trail.h"
#include "drapps/batch/mix.h"
#include "drapps/batch/row.h"
#include "drapps/decode/decoder.h"
#include "drapps/decode/foreign.h"
#include "drapps/decode/jpeg/index.h"
#include "drapps/decode/types.h"
#include "drapps/modality/columns.h"
#include "drapps/modality/modality.h"
#include "drapps/modality/picture_forms.h"
#include "drapps/source/encoded.h"

namespace drapps {

template <>
struct EnumNames<ColorMode> {
  static constexpr std::array<std::string_view, 3> kNames{"rgb", "gray", "indices"};
};
template <>
struct EnumNames<ExifMode> {
  static constexpr std::array<std::string_view, 2> kNames{"ignore", "apply"};
};
template <>
struct EnumNames<DepthMode> {
  static constexpr std::array<std::string_view, 3> kNames{"raise", "clip", "scale"};
};
template <>
struct EnumNames<CmykMode> {
  static constexpr std::array<std::string_view, 2> kNames{"pillow", "tensorflow"};
};

/// What the masks of a batch look like.
struct MaskFormat {
  Dtype dtype = Dtype::kUint8;  // or int32, int64
  bool channel = false;         // rows of [1, height, width] instead of [height, width]

  template <class V>
  void fields(V& v) {
    v("dtype", dtype);
    v("channel", channel);
  }
  bool operator==(const MaskFormat&) const = default;
};

struct PictureFields {
  DecodeOptions decode;
  std::vector<Op> ops;  // op i draws with ordinal i + 1
  TensorFormat tensor;
  MaskFormat mask;
  std::optional<Mix> mix;                        // of whole batches; draws as one more op behind the last
  std::int32_t max_boxes = 100;                  // rows of the box columns; a sample with more is bad
  std::shared_ptr<const ForeignReader> foreign;  // of pictures that nothing here reads, or null; not in the JSON
};

struct PicturePart final : PartSpec, PictureFields {
  static constexpr std::string_view kModality = "picture";

  explicit PicturePart(PictureFields fields) : PictureFields(std::move(fields)) {}
  static Result<std::shared_ptr<const PartSpec>> parse(const nlohmann::json& fields, const std::string& where,
                                                       const std::shared_ptr<const Attachment>& attached);
  std::string_view modality() const noexcept override { return kModality; }
  nlohmann::json to_json() const override;
  Result<std::shared_ptr<PartPlan>> plan(const std::string& name, std::size_t place,
                                         const Source& source) const override;
};

struct PictureState final : PartState {
  PictureState(MemoryLedger& ledger, std::shared_ptr<jpeg::IndexStore> indexes_of_source)
      : decoder(ledger), scratch(ledger), forms(ledger), indexes(std::move(indexes_of_source)) {}

  /// Whether its row was finished elsewhere.
  bool finished() const noexcept { return row != nullptr || row_there != nullptr; }
  void reset() noexcept override {
    decoder.reset();
    scratch.reset();
    forms.reset();
  }

  Decoder decoder;
  Scratch scratch;
  Picture picture;
  std::uint32_t ops = 0;                 // how many were already done to what was fetched
  const std::byte* row = nullptr;        // finished elsewhere, as the batch has it; or null
  const std::byte* row_there = nullptr;  // the same, where it stays on the device
  Trail trail;                           // of what is to be augmented elsewhere
  std::vector<Erasure> erasures;         // of a row that is carried as bytes
  PictureForms forms;
  const std::shared_ptr<jpeg::IndexStore> indexes;
};

/// The part of a source's records that the pictures of a plan's part are made of: the one of its name, or the first.
inline RecordPart image_of(std::string_view name, const Source& source) noexcept {
  return source.part_named(name).value_or(kFirstPart);
}
/// The part of a source's records that holds the masks of these pictures; only the records' first pictures have masks.
inline std::optional<RecordPart> mask_of(std::string_view name, const Source& source) noexcept {
  return image_of(name, source) == kFirstPart ? source.part_named(kMaskName) : std::nullopt;
}

class PictureDevice;
struct LateRequest;

/// What stands in the column of pictures: what was described, or bytes of which a device makes that (device_part.h).
enum class RowForm : std::uint8_t { kFinished, kBytes };

class PicturePlan final : public PartPlan {
 public:
  static Result<std::shared_ptr<PartPlan>> make(const PicturePart& spec, const std::string& name, std::size_t place,
                                                const Source& source, RowForm form = RowForm::kFinished);

  Status add_columns(BatchColumns& columns) override;
  void add_target_columns(BatchColumns& columns) override;
  Result<CarriedPart> carried() const override;
  void add_carried_columns(BatchColumns& columns) override;
  std::unique_ptr<PartState> new_state(MemoryLedger& ledger,
                                       const std::shared_ptr<LearnedStore>& learned) const override;
  std::shared_ptr<LearnedStore> new_store(MemoryLedger& ledger, std::uint64_t records,
                                          std::size_t budget) const override;
  void report(const LearnedStore& learned, nlohmann::json& root) const override;
  std::uint64_t large_work() const noexcept override { return static_cast<std::uint64_t>(kManyPixels); }
  Status decode(Sample& sample, const PartDraws& draws) const override;
  Status augment(Sample& sample, const PartDraws& draws) const override;
  Result<DevicePart> on_device() const override;
  Result<std::shared_ptr<LateStage>> late_stage(const std::shared_ptr<DeviceRoom>& room,
                                                MemoryLedger& host) const override;
  bool decode_late(Sample& sample, const PartDraws& draws, LateStage& decoder, LateSink& sink,
                   bool augment) const override;
  Status note_trail(const PartDraws& draws, Scratch& scratch, Trail& trail) const override;
  bool finishes() const noexcept override { return mixer_.has_value() && form_ == RowForm::kFinished; }
  void finish(const BatchColumns& columns, std::byte* slot, std::uint32_t rows, const PartDraws& draws) const override;
  std::size_t ordinals() const noexcept override { return spec_.ops.size() + (mixer_ ? 1 : 0); }
  std::size_t fixed_ops() const noexcept override { return fixed_ops_; }
  std::optional<std::string> made_with(cache::FormId form) const override;
  nlohmann::json stages() const override;

 private:
  PicturePlan(const PicturePart& spec, std::string name, std::size_t place, const Source& source,
              std::vector<PictureSpec> stages, const PictureWriter& writer, RowForm form)
      : PartPlan(place, image_of(name, source)),
        spec_(spec),
        name_(std::move(name)),
        source_(source),
        mask_of_(mask_of(name_, source)),
        stages_(std::move(stages)),
        writer_(writer),
        form_(form) {}

  PictureState& state(const Sample& sample) const noexcept { return static_cast<PictureState&>(state_of(sample)); }
  Status write_image(PictureState& work, std::byte* row) const;
  std::size_t most_erasures() const noexcept;
  Status gather(const RowRun& run, std::size_t& next, std::byte* first) const;
  Rect first_region(Extent whole, const PartDraws& draws) const;
  bool keeps_pixels(Sample& sample, Extent extent) const noexcept;
  bool keeps_prepared(Sample& sample) const noexcept;
  void keep_image(Sample& sample, std::uint64_t saved_ns) const;
  void keep_coefficients(Sample& sample) const;
  Status cut(Picture& picture, const PartDraws& draws) const;
  Status decode_image(Sample& sample, const PartDraws& draws) const;
  Status enter_kept(Sample& sample, const PartDraws& draws) const;
  Status read_foreign(Sample& sample, const PartDraws& draws, const Error& unread) const;
  Status decode_mask(Sample& sample, RecordPart part) const;
  Status enter_decoded(Sample& sample) const;
  Result<const PictureWriter*> late_writer() const;
  Status note_ops(const PartDraws& draws, Picture& picture, Scratch& scratch, Trail& trail) const;
  bool note_late_ops(PictureState& work, const PartDraws& draws, const PictureDevice& pictures,
                     LateRequest& request) const;
  bool augment_kept(Sample& sample, const PartDraws& draws, PictureDevice& pictures, LateSink& sink) const;
  Status enter_late(Sample& sample) const;
  Status note_erasures(const PartDraws& draws, PictureState& work) const;

  const PicturePart spec_;
  const std::string name_;
  const Source& source_;
  const std::optional<RecordPart> mask_of_;
  const std::vector<PictureSpec> stages_;  // what the decoder makes, then what each op makes
  const PictureWriter writer_;
  const RowForm form_;
  std::optional<MaskWriter> mask_;
  std::optional<Mixer> mixer_;
  std::size_t last_look_ = 0;  // number of the last op that looks at the picture
  std::size_t fixed_ops_ = 0;
  std::size_t image_column_ = 0;
};

}  // namespace drapps
