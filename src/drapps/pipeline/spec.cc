#include "drapps/pipeline/spec.h"

#include <utility>

#include "drapps/modality/json_fields.h"
#include "drapps/modality/modalities.h"
#include "drapps/modality/picture.h"

namespace drapps {
namespace {

using nlohmann::json;

constexpr const char* kPicturePart = "image";  // whose fields may stand beside "parts"

template <class V>
void sampler_fields(V& v, SamplerSpec& sampler) {
  v("shuffle", sampler.shuffle);
  v("seed", sampler.seed);
  v("rank", sampler.rank);
  v("world", sampler.world);
  v("batch", sampler.batch);
  v("remainder", sampler.remainder);
}

Status parse_parts(const json& parts, const std::shared_ptr<const Attachment>& attached, PipelineSpec& spec) {
  if (!parts.is_object()) return invalid("parts is not an object");
  for (const auto& [name, described] : parts.items()) {
    const std::string where = "parts." + name;
    if (!described.is_object() || !described.contains("modality") || !described["modality"].is_string()) {
      return invalid(where + " needs a field \"modality\" that says what it is");
    }
    const Modality* modality = find_modality(described["modality"].get<std::string>());
    if (modality == nullptr) return invalid(where + " is of an unknown modality, " + described["modality"].dump());
    json fields = described;
    fields.erase("modality");
    auto part = modality->parse(fields, where, attached);
    if (!part.ok()) {
      Error error = std::move(part).error();
      if (!error.message.starts_with(where)) error.message.insert(0, where + ": ");
      return error;
    }
    if (!spec.parts.empty() && spec.parts.front().name == name) {
      return invalid(where + " is described beside \"parts\" too; describe it in one place");
    }
    spec.parts.push_back({name, *std::move(part)});
  }
  return ok_status();
}

}  // namespace

Result<PipelineSpec> parse_spec(std::string_view text, const std::shared_ptr<const Attachment>& attached) {
  const json root = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!root.is_object()) return invalid("the pipeline description is not a JSON object");
  PipelineSpec spec;
  if (root.value("version", json(PipelineSpec::kVersion)) != json(PipelineSpec::kVersion)) {
    return invalid("the pipeline description has version " + root["version"].dump() + ", this library reads version " +
                   std::to_string(PipelineSpec::kVersion));
  }
  json picture = json::object();
  for (const auto& [key, value] : root.items()) {
    if (key == "version" || key == "parts") continue;
    if (key == "sampler") {
      JsonReader reader(value, "sampler");
      sampler_fields(reader, spec.sampler);
      DRAPPS_RETURN_IF_ERROR(reader.status());
    } else if (key == "seed") {
      if (!value.is_number_unsigned()) return invalid("seed must be a whole number >= 0");
      spec.seed = value.get<std::uint64_t>();
    } else if (key == "on_error") {
      if (!value.is_string() || !parse(value.get<std::string>(), spec.on_error)) {
        return invalid("on_error must be one of raise, skip, replace");
      }
    } else {
      picture[key] = value;
    }
  }
  if (!picture.empty() || !root.contains("parts")) {
    auto part = PicturePart::parse(picture, "the pipeline description", attached);
    if (!part.ok()) return std::move(part).error();
    spec.parts.push_back({kPicturePart, *std::move(part)});
  }
  if (root.contains("parts")) DRAPPS_RETURN_IF_ERROR(parse_parts(root["parts"], attached, spec));
  return spec;
}

std::string to_json(const PipelineSpec& spec) {
  json root;
  root["version"] = PipelineSpec::kVersion;
  for (const auto& [name, part] : spec.parts) {
    json fields = part->to_json();
    if (name == kPicturePart && part->modality() == PicturePart::kModality) {
      root.update(fields);
    } else {
      fields["modality"] = part->modality();
      root["parts"][name] = std::move(fields);
    }
  }
  SamplerSpec described = spec.sampler;  // visitors see members as mutable
  JsonWriter sampler;
  sampler_fields(sampler, described);
  root["sampler"] = std::move(sampler).take();
  root["seed"] = spec.seed;
  root["on_error"] = std::string(name_of(spec.on_error));
  return root.dump();
}

}  // namespace drapps
