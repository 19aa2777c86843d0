// The description of a picture as JSON.
#include <optional>
#include <utility>

#include "drapps/modality/json_fields.h"
#include "drapps/modality/picture.h"

namespace drapps {
namespace {

using nlohmann::json;

template <class V>
void decode_fields(V& v, DecodeOptions& decode) {
  v("color", decode.color);
  v("exif", decode.exif);
  v("depth", decode.depth);
  v("cmyk", decode.cmyk);
  v("max_pixels", decode.max_pixels);
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

Status check_version(const std::string& where, int version, int known) {
  if (version == known) return ok_status();
  return invalid(where + " has version " + std::to_string(version) + ", this library makes version " +
                 std::to_string(known));
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
  DRAPPS_RETURN_IF_ERROR(check_version(where + " (" + tag + ")", version, version_of(*op)));
  return *std::move(op);
}

Status parse_ops(const json& list, std::vector<Op>& ops) {
  if (!list.is_array()) return invalid("ops is not an array");
  for (std::size_t i = 0; i < list.size(); ++i) {
    auto op = parse_op(list[i], i);
    if (!op.ok()) return std::move(op).error();
    ops.push_back(*std::move(op));
  }
  return ok_status();
}

Status parse_mix(const json& object, std::optional<Mix>& mix) {
  int version = Mix::kVersion;
  JsonReader reader(object, "mix");
  reader("version", version);
  mix.emplace().fields(reader);
  DRAPPS_RETURN_IF_ERROR(reader.status());
  return check_version("mix", version, Mix::kVersion);
}

template <class Fields>
Status parse_object(const json& object, const char* where, const Fields& fields) {
  JsonReader reader(object, where);
  fields(reader);
  return reader.status();
}

template <class Fields>
json write_object(const Fields& fields) {
  JsonWriter writer;
  fields(writer);
  return std::move(writer).take();
}

}  // namespace

Result<std::shared_ptr<const PartSpec>> PicturePart::parse(const json& fields, const std::string& where,
                                                           const std::shared_ptr<const Attachment>& attached) {
  PictureFields part;
  part.foreign = std::dynamic_pointer_cast<const ForeignReader>(attached);
  for (const auto& [key, value] : fields.items()) {
    Status status = ok_status();
    if (key == "decode") {
      status = parse_object(value, "decode", [&](auto& v) { decode_fields(v, part.decode); });
    } else if (key == "ops") {
      status = parse_ops(value, part.ops);
    } else if (key == "tensor") {
      status = parse_object(value, "tensor", [&](auto& v) { part.tensor.fields(v); });
    } else if (key == "mask") {
      status = parse_object(value, "mask", [&](auto& v) { part.mask.fields(v); });
    } else if (key == "mix") {
      status = parse_mix(value, part.mix);
    } else if (key == "max_boxes") {
      if (!value.is_number_unsigned() || value.get<std::uint64_t>() > 1'000'000) {
        return invalid("max_boxes must be a number of boxes, at most 1000000");
      }
      part.max_boxes = value.get<std::int32_t>();
    } else {
      return invalid(std::string(where).append(" has no field named \"").append(key).append("\""));
    }
    DRAPPS_RETURN_IF_ERROR(status);
  }
  return std::shared_ptr<const PartSpec>(std::make_shared<PicturePart>(std::move(part)));
}

json PicturePart::to_json() const {
  PicturePart spec = *this;  // visitors see members as mutable
  json root;
  root["decode"] = write_object([&](auto& v) { decode_fields(v, spec.decode); });
  root["ops"] = json::array();
  for (Op& op : spec.ops) {
    json object = write_object([&](auto& v) { std::visit([&](auto& concrete) { concrete.fields(v); }, op); });
    object["op"] = std::string(tag_of(op));
    object["version"] = version_of(op);
    root["ops"].push_back(std::move(object));
  }
  root["tensor"] = write_object([&](auto& v) { spec.tensor.fields(v); });
  root["mask"] = write_object([&](auto& v) { spec.mask.fields(v); });
  if (spec.mix) {
    root["mix"] = write_object([&](auto& v) { spec.mix->fields(v); });
    root["mix"]["version"] = Mix::kVersion;
  }
  root["max_boxes"] = spec.max_boxes;
  return root;
}

}  // namespace drapps
