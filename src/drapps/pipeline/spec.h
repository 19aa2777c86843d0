// What a pipeline does, described: plain, comparable, storable. Nothing in it depends on the machine.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drapps/augment/ops.h"
#include "drapps/base/result.h"
#include "drapps/batch/mix_draws.h"
#include "drapps/batch/tensor_format.h"
#include "drapps/decode/foreign.h"
#include "drapps/decode/types.h"
#include "drapps/source/sampler.h"

namespace drapps {

/// What becomes of a bad sample; it lands in the ledger in any case.
enum class OnError : std::uint8_t {
  kRaise,    // its batch is an error, the next one goes on
  kSkip,     // its row is dropped from its batch, which may become empty; positions never shift
  kReplace,  // another sample, chosen by its coordinate, stands in for it, flagged
};

template <>
struct EnumNames<OnError> {
  static constexpr std::array<std::string_view, 3> kNames{"raise", "skip", "replace"};
};
template <>
struct EnumNames<Remainder> {
  static constexpr std::array<std::string_view, 3> kNames{"even", "pad", "drop"};
};
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

struct PipelineSpec {
  static constexpr int kVersion = 1;

  DecodeOptions decode;
  std::vector<Op> ops;  // op i draws with ordinal i + 1
  TensorFormat tensor;
  MaskFormat mask;
  std::optional<Mix> mix;        // of whole batches; draws as one more op behind the last
  SamplerSpec sampler;           // its size is the source's
  std::uint64_t seed = 0;        // of the ops, beside the order's
  std::int32_t max_boxes = 100;  // rows of the box columns; a sample with more is bad
  OnError on_error = OnError::kRaise;
  std::shared_ptr<const ForeignReader> foreign;  // of pictures that nothing here reads, or null; not in the JSON
};

/// Reads a description. kInvalidArgument names the field that is missing, unknown or of the wrong type; unknown
/// versions are refused. Values are checked by Plan::make, not here.
Result<PipelineSpec> parse_spec(std::string_view json);

/// The description as JSON, with every field; parse_spec gives it back.
std::string to_json(const PipelineSpec& spec);

}  // namespace drapps
