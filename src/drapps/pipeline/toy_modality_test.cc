// A modality of its own: byte strings with one op, known to the library by one entry in the list.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "drapps/modality/json_fields.h"
#include "drapps/modality/modalities.h"
#include "drapps/modality/test_pictures.h"
#include "drapps/pipeline/test_pass.h"
#include "drapps/source/encoded.h"
#include "drapps/storage/testing.h"

namespace drapps {
namespace {

struct ToyBytes final : PartSpec {
  std::int32_t length = 8;  // of a row: longer strings are cut, shorter ones filled up with zeros
  double reverse = 0;       // the probability of the op "reverse"

  template <class V>
  void fields(V& v) {
    v("length", length);
    v("reverse", reverse);
  }
  std::string_view modality() const noexcept override { return "toy_bytes"; }
  nlohmann::json to_json() const override {
    ToyBytes described = *this;
    JsonWriter writer;
    described.fields(writer);
    return std::move(writer).take();
  }
  Result<std::shared_ptr<PartPlan>> plan(const std::string& name, std::size_t place,
                                         const Source& source) const override;
  static Result<std::shared_ptr<const PartSpec>> parse(const nlohmann::json& object, const std::string& where,
                                                       const std::shared_ptr<const Attachment>&) {
    auto part = std::make_shared<ToyBytes>();
    JsonReader reader(object, where);
    part->fields(reader);
    DRAPPS_RETURN_IF_ERROR(reader.status());
    return std::shared_ptr<const PartSpec>(std::move(part));
  }
};

struct ToyBytesState final : PartState {
  std::string bytes;
  void reset() noexcept override { bytes = {}; }
};

class ToyBytesPlan final : public PartPlan {
 public:
  ToyBytesPlan(ToyBytes spec, std::string name, std::size_t place, RecordPart of)
      : PartPlan(place, of), spec_(std::move(spec)), name_(std::move(name)) {}

  Status add_columns(BatchColumns& columns) override {
    columns.add(name_, Dtype::kUint8, {spec_.length}, [this](const Sample& sample, std::byte* row) {
      std::string& bytes = state(sample).bytes;
      bytes.resize(static_cast<std::size_t>(spec_.length));
      std::memcpy(row, bytes.data(), bytes.size());
      return ok_status();
    });
    return ok_status();
  }
  void add_target_columns(BatchColumns& columns) override {
    columns.add_number<std::int64_t>(name_ + "_bytes", Dtype::kInt64,
                                     [this](const Sample& sample) { return sample.read->bytes[of()].size(); });
  }
  std::unique_ptr<PartState> new_state(MemoryLedger&, const std::shared_ptr<LearnedStore>&) const override {
    return std::make_unique<ToyBytesState>();
  }
  Status decode(Sample& sample, const PartDraws&) const override {
    if (sample.read->bytes[of()].front() == '!') {
      return Error{.code = ErrorCode::kCorrupt, .stage = Stage::kDecode, .message = "the toy does not like it"};
    }
    state(sample).bytes.assign(reinterpret_cast<const char*>(sample.read->bytes[of()].data()),
                               sample.read->bytes[of()].size());
    return ok_status();
  }
  Status augment(Sample& sample, const PartDraws& draws) const override {
    std::string& bytes = state(sample).bytes;
    if (draws[0].coin(spec_.reverse)) std::reverse(bytes.begin(), bytes.end());
    return ok_status();
  }
  std::size_t ordinals() const noexcept override { return 1; }
  std::size_t fixed_ops() const noexcept override { return 0; }
  nlohmann::json stages() const override { return {{{"op", "reverse"}, {"length", spec_.length}}}; }

 private:
  ToyBytesState& state(const Sample& sample) const { return static_cast<ToyBytesState&>(state_of(sample)); }

  const ToyBytes spec_;
  const std::string name_;
};

Result<std::shared_ptr<PartPlan>> ToyBytes::plan(const std::string& name, std::size_t place,
                                                 const Source& source) const {
  const RecordPart of = source.part_named(name).value_or(kFirstPart);
  return std::shared_ptr<PartPlan>(std::make_shared<ToyBytesPlan>(*this, name, place, of));
}

/// Records of two pictures, one in memory and one in a file, and a string.
class Stereo final : public Source {
 public:
  Stereo(const Folder& folder, std::uint64_t size) : Source(size, {"left", "right", "caption"}, {}) {
    for (std::uint32_t i = 0; i < size; ++i) {
      left_.push_back(testing_pictures::png(20, 24, i));
      const auto right = testing_pictures::png(20, 24, 100 + i);
      right_.push_back(folder.put(std::to_string(i) + ".png", {right.begin(), right.end()}));
    }
  }
  Location locate(std::uint64_t index, RecordPart part) const noexcept override {
    if (part == 0) return {.path = nullptr, .bytes = left_[index]};
    if (part == 1) return {.path = right_[index].c_str(), .bytes = {}};
    return {.path = nullptr, .bytes = caption_};
  }
  std::string name(std::uint64_t index, RecordPart part) const override {
    return parts()[part] + "[" + std::to_string(index) + "]";
  }

 private:
  std::vector<std::vector<std::uint8_t>> left_;
  std::vector<std::string> right_;
  const std::vector<std::uint8_t> caption_{'s', 'e', 'a'};
};

/// Both kinds of parts are of the same bytes: to the toy, a picture's file is a string.
class ToyModality : public testing::Test {
 protected:
  ToyModality() { register_modality({"toy_bytes", &ToyBytes::parse}); }

  static std::shared_ptr<Source> source_of(std::vector<std::vector<std::uint8_t>> contents) {
    auto bytes = std::make_shared<std::vector<std::vector<std::uint8_t>>>(std::move(contents));
    std::vector<MemorySource::Bytes> records;
    for (const auto& each : *bytes) records.emplace_back(each);
    return *MemorySource::make(std::move(records), bytes);
  }
  std::vector<std::string> drain(const std::string& json, const std::shared_ptr<Source>& source,
                                 std::string_view column, bool fused = true) {
    auto spec = parse_spec(json);
    EXPECT_TRUE(spec.ok()) << spec.error().message;
    return test_pass::drain(*test_pass::start(engine_, *Plan::make(*spec, *source), source, fused), column);
  }

  Engine engine_;
};

TEST_F(ToyModality, ItsPartIsDecodedAugmentedAndBatched) {
  const auto source = source_of({{'a', 'b', 'c'}, {'d', 'e'}, {'f'}, {'g', 'h', 'i', 'j', 'k'}});
  const std::string plain = R"({"parts":{"text":{"modality":"toy_bytes","length":4}},"sampler":{"batch":2}})";
  const std::vector<std::string> expected{std::string("abc\0de\0\0", 8), std::string("f\0\0\0ghij", 8)};
  const std::string turned =
      R"({"parts":{"text":{"modality":"toy_bytes","length":4,"reverse":1.0}},"sampler":{"batch":2}})";
  const std::vector<std::string> reversed{std::string("cba\0ed\0\0", 8), std::string("f\0\0\0kjih", 8)};
  for (const bool fused : {true, false}) {
    EXPECT_EQ(drain(plain, source, "text", fused), expected);
    EXPECT_EQ(drain(turned, source, "text", fused), reversed);
  }
  EXPECT_EQ(drain(plain, source, "text_bytes")[0], std::string("\3\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0", 16));
}

TEST_F(ToyModality, ItsPartStandsBesideAPictureThatDoesNotChange) {
  std::vector<std::vector<std::uint8_t>> contents;
  for (std::uint32_t i = 0; i < 9; ++i) contents.push_back(testing_pictures::png(20, 24, i));
  const auto source = source_of(contents);
  const std::string picture = R"("ops":[{"op":"random_resized_crop","height":16,"width":16},{"op":"horizontal_flip"}],)"
                              R"("sampler":{"batch":4,"shuffle":true,"seed":5})";
  const std::string both = "{" + picture + R"(,"parts":{"file":{"modality":"toy_bytes","length":600,"reverse":0.5}}})";
  EXPECT_EQ(drain(both, source, "image"), drain("{" + picture + "}", source, "image"));
  std::size_t reversed = 0;
  for (const std::string& batch : drain(both, source, "file")) {
    for (std::size_t row = 0; row < batch.size(); row += 600) reversed += batch.substr(row + 1, 3) == "PNG" ? 0 : 1;
  }
  EXPECT_GT(reversed, 0u);
  EXPECT_LT(reversed, 9u);
}

TEST_F(ToyModality, EachPartOfASampleIsMadeOfThePartOfTheRecordThatHasItsName) {
  constexpr std::uint64_t kSize = 5;
  const Folder folder;
  const std::string tail = R"(},"sampler":{"batch":5}})";
  const std::string crop = R"({"modality":"picture","ops":[{"op":"center_crop","height":16,"width":16}]})";
  const std::string all = R"({"parts":{"left":)" + crop + R"(,"right":)" + crop +
                          R"(,"caption":{"modality":"toy_bytes","length":3})" + tail;
  const std::string alone = R"({"parts":{"image":)" + crop + tail;
  const auto pictures = [](std::uint32_t first) {
    std::vector<std::vector<std::uint8_t>> contents;
    for (std::uint32_t i = 0; i < kSize; ++i) contents.push_back(testing_pictures::png(20, 24, first + i));
    return source_of(std::move(contents));
  };
  for (const bool fused : {true, false}) {
    const auto source = std::make_shared<Stereo>(folder, kSize);
    EXPECT_EQ(drain(all, source, "left", fused), drain(alone, pictures(0), "image", fused));
    EXPECT_EQ(drain(all, source, "right", fused), drain(alone, pictures(100), "image", fused));
    EXPECT_EQ(drain(all, source, "caption", fused)[0], "seaseaseaseasea");
  }
  auto spec = parse_spec(all);
  const auto damaged = std::make_shared<Stereo>(folder, kSize);
  std::filesystem::resize_file(folder.path("3.png"), 50);
  const auto runner = test_pass::start(engine_, *Plan::make(*spec, *damaged), damaged);
  test_pass::drain(*runner, "right");
  ASSERT_EQ(runner->bad_samples().size(), 1u);
  EXPECT_EQ(runner->bad_samples()[0].path, "right[3]");
}

TEST_F(ToyModality, ItsDescriptionIsStoredAndItsErrorsNameTheSample) {
  const std::string json = R"({"parts":{"text":{"modality":"toy_bytes","length":4}},"sampler":{"batch":2}})";
  const auto spec = *parse_spec(json);
  EXPECT_EQ(to_json(*parse_spec(to_json(spec))), to_json(spec));
  EXPECT_NE(to_json(spec).find(R"("text":{"length":4,"modality":"toy_bytes","reverse":0.0})"), std::string::npos);
  const auto refusal = [](const std::string& parts) {
    return parse_spec(R"({"parts":)" + parts + "}").error().message;
  };
  EXPECT_NE(refusal(R"({"text":{"modality":"toy_bytes","width":4}})").find("parts.text has no field named \"width\""),
            std::string::npos);
  EXPECT_NE(refusal(R"({"text":{"modality":"smell"}})").find("parts.text is of an unknown modality, \"smell\""),
            std::string::npos);
  EXPECT_NE(refusal(R"({"text":{}})").find("parts.text needs a field \"modality\""), std::string::npos);
  EXPECT_NE(refusal("[]").find("parts is not an object"), std::string::npos);

  const auto source = source_of({{'a'}, {'b'}, {'!'}, {'c'}});
  const auto runner = test_pass::start(engine_, *Plan::make(spec, *source), source);
  EXPECT_EQ(test_pass::drain(*runner, "text")[1], "the toy does not like it");
  ASSERT_EQ(runner->bad_samples().size(), 1u);
  EXPECT_EQ(runner->bad_samples()[0].path, "memory[2]");
  EXPECT_EQ(runner->bad_samples()[0].index, 2);
}

}  // namespace
}  // namespace drapps
