#include "drapps/pipeline/spec.h"

#include <optional>
#include <utility>

#include "drapps/pipeline/json_fields.h"

namespace drapps {
namespace {

using nlohmann::json;

// Descriptions of structs that lower layers own and that have no visitor of their own.

template <class V>
void decode_fields(V& v, DecodeOptions& decode) {
  v("color", decode.color);
  v("exif", decode.exif);
  v("depth", decode.depth);
  v("cmyk", decode.cmyk);
  v("max_pixels", decode.max_pixels);
}

template <class V>
void sampler_fields(V& v, SamplerSpec& sampler) {
  v("shuffle", sampler.shuffle);
  v("seed", sampler.seed);
  v("rank", sampler.rank);
  v("world", sampler.world);
  v("batch", sampler.batch);
  v("remainder", sampler.remainder);
}

template <std::size_t I = 0>
std::optional<Op> op_with_tag(std::string_view tag) {
  if constexpr (I == std::variant_size_v<Op>) {
    return std::nullopt;
  } else {
    using Candidate = std::variant_alternative_t<I, Op>;
    if (tag == Candidate::kTag) return Op(Candidate{});
    return op_with_tag<I + 1>(tag);
  }
}

Result<Op> parse_op(const json& object, std::size_t place) {
  const std::string where = "ops[" + std::to_string(place) + "]";
  if (!object.is_object() || !object.contains("op") || !object["op"].is_string()) {
    return invalid(where + " needs a field \"op\" that names it");
  }
  const std::string tag = object["op"];
  std::optional<Op> op = op_with_tag(tag);
  if (!op) return invalid(where + " names an unknown op \"" + tag + "\"");
  int version = version_of(*op);
  json rest = object;
  rest.erase("op");
  JsonReader fields(rest, where + " (" + tag + ")");
  fields("version", version);
  std::visit([&](auto& concrete) { concrete.fields(fields); }, *op);
  DRAPPS_RETURN_IF_ERROR(fields.status());
  if (version != version_of(*op)) {
    return invalid(where + " (" + tag + ") has version " + std::to_string(version) + ", this library makes version " +
                   std::to_string(version_of(*op)));
  }
  return *std::move(op);
}

Result<Mix> parse_mix(const json& object) {
  Mix mix;
  int version = Mix::kVersion;
  JsonReader reader(object, "mix");
  reader("version", version);
  mix.fields(reader);
  DRAPPS_RETURN_IF_ERROR(reader.status());
  if (version == Mix::kVersion) return mix;
  return invalid("mix has version " + std::to_string(version) + ", this library makes version " +
                 std::to_string(Mix::kVersion));
}

}  // namespace

Result<PipelineSpec> parse_spec(std::string_view text) {
  const json root = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!root.is_object()) return invalid("the pipeline description is not a JSON object");
  PipelineSpec spec;
  if (root.value("version", json(PipelineSpec::kVersion)) != json(PipelineSpec::kVersion)) {
    return invalid("the pipeline description has version " + root["version"].dump() + ", this library reads version " +
                   std::to_string(PipelineSpec::kVersion));
  }
  for (const auto& [key, value] : root.items()) {
    if (key == "version") continue;
    if (key == "decode") {
      JsonReader reader(value, "decode");
      decode_fields(reader, spec.decode);
      DRAPPS_RETURN_IF_ERROR(reader.status());
    } else if (key == "ops") {
      if (!value.is_array()) return invalid("ops is not an array");
      for (std::size_t i = 0; i < value.size(); ++i) {
        auto op = parse_op(value[i], i);
        if (!op.ok()) return std::move(op).error();
        spec.ops.push_back(*std::move(op));
      }
    } else if (key == "tensor") {
      JsonReader reader(value, "tensor");
      spec.tensor.fields(reader);
      DRAPPS_RETURN_IF_ERROR(reader.status());
    } else if (key == "mask") {
      JsonReader reader(value, "mask");
      spec.mask.fields(reader);
      DRAPPS_RETURN_IF_ERROR(reader.status());
    } else if (key == "mix") {
      auto mix = parse_mix(value);
      if (!mix.ok()) return std::move(mix).error();
      spec.mix = *mix;
    } else if (key == "sampler") {
      JsonReader reader(value, "sampler");
      sampler_fields(reader, spec.sampler);
      DRAPPS_RETURN_IF_ERROR(reader.status());
    } else if (key == "seed") {
      if (!value.is_number_unsigned()) return invalid("seed must be a whole number >= 0");
      spec.seed = value.get<std::uint64_t>();
    } else if (key == "max_boxes") {
      if (!value.is_number_unsigned() || value.get<std::uint64_t>() > 1'000'000) {
        return invalid("max_boxes must be a number of boxes, at most 1000000");
      }
      spec.max_boxes = value.get<std::int32_t>();
    } else if (key == "on_error") {
      if (!value.is_string() || !parse(value.get<std::string>(), spec.on_error)) {
        return invalid("on_error must be one of raise, skip, replace");
      }
    } else {
      return invalid("the pipeline description has no field named \"" + key + "\"");
    }
  }
  return spec;
}

std::string to_json(const PipelineSpec& given) {
  PipelineSpec spec = given;  // visitors see members as mutable
  json root;
  root["version"] = PipelineSpec::kVersion;
  JsonWriter decode;
  decode_fields(decode, spec.decode);
  root["decode"] = std::move(decode).take();
  root["ops"] = json::array();
  for (Op& op : spec.ops) {
    JsonWriter writer;
    std::visit([&](auto& concrete) { concrete.fields(writer); }, op);
    json object = std::move(writer).take();
    object["op"] = std::string(tag_of(op));
    object["version"] = version_of(op);
    root["ops"].push_back(std::move(object));
  }
  JsonWriter tensor;
  spec.tensor.fields(tensor);
  root["tensor"] = std::move(tensor).take();
  JsonWriter mask;
  spec.mask.fields(mask);
  root["mask"] = std::move(mask).take();
  if (spec.mix) {
    JsonWriter mix;
    spec.mix->fields(mix);
    root["mix"] = std::move(mix).take();
    root["mix"]["version"] = Mix::kVersion;
  }
  JsonWriter sampler;
  sampler_fields(sampler, spec.sampler);
  root["sampler"] = std::move(sampler).take();
  root["seed"] = spec.seed;
  root["max_boxes"] = spec.max_boxes;
  root["on_error"] = std::string(name_of(spec.on_error));
  return root.dump();
}

}  // namespace drapps
