// What a pipeline does, described: plain, comparable, storable. Nothing in it depends on the machine.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "drapps/augment/picture/fields.h"
#include "drapps/base/attachment.h"
#include "drapps/base/result.h"
#include "drapps/modality/modality.h"
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

struct PipelineSpec {
  static constexpr int kVersion = 1;

  std::vector<SamplePart> parts;  // of each sample
  SamplerSpec sampler;            // its size is the source's
  std::uint64_t seed = 0;         // of the ops, beside the order's
  OnError on_error = OnError::kRaise;
};

/// Reads a description. "parts" are an object by name, of objects with "modality" and that one's fields; the fields of
/// a picture may stand beside "parts" instead, for a part named "image". kInvalidArgument names the field that is
/// missing, unknown or of the wrong type; unknown versions are refused. Values are checked by Plan::make, not here.
/// @param attached  what JSON cannot hold of the description, or null.
Result<PipelineSpec> parse_spec(std::string_view json, const std::shared_ptr<const Attachment>& attached = nullptr);

/// The description as JSON, with every field; parse_spec reads it.
std::string to_json(const PipelineSpec& spec);

}  // namespace drapps
