#include "drapps/trace/header.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "drapps/base/knob.h"
#include "drapps/plant/fields.h"
#include "drapps/plant/schema.h"
#include "drapps/policy/decider.h"

namespace drapps::trace {
namespace {

using nlohmann::json;

constexpr std::size_t kMostFields = 4096;
constexpr std::size_t kMostNames = 256;
constexpr std::size_t kMostLanes = 64;  // a sample says of each in a bit whether it was there

Coding coding_of_field(std::string_view name) noexcept {
  for (const std::string_view quantile : {".p50", ".p90", ".p99", ".most"}) {
    if (name.ends_with(quantile)) return Coding::kEdge;
  }
  return Coding::kDifference;
}

Error no_header(std::string_view what) {
  return {.code = ErrorCode::kCorrupt, .message = "the header of the trace has no " + std::string(what)};
}

bool read_text(const json& from, const char* key, std::string& into) {
  const auto value = from.find(key);
  if (value == from.end() || !value->is_string()) return false;
  into = value->get<std::string>();
  return true;
}

bool read_names(const json& from, const char* key, std::size_t most, std::vector<std::string>& into) {
  const auto names = from.find(key);
  if (names == from.end() || !names->is_array() || names->size() > most) return false;
  for (const json& name : *names) {
    if (!name.is_string()) return false;
    into.push_back(name.get<std::string>());
  }
  return true;
}

bool read_time(const json& from, const char* key, std::uint64_t& into) {
  const auto number = from.find(key);
  if (number == from.end() || !number->is_number_unsigned()) return false;
  into = number->get<std::uint64_t>();
  return true;
}

bool read_fields(const json& from, std::vector<TraceField>& into) {
  const auto list = from.find("fields");
  if (list == from.end() || !list->is_array() || list->size() > kMostFields) return false;
  for (const json& one : *list) {
    TraceField field;
    std::string kind, coded;
    if (!one.is_object() || !read_text(one, "name", field.name) || !read_text(one, "unit", field.unit) ||
        !read_text(one, "source", field.source) || !read_text(one, "kind", kind) || !read_text(one, "coded", coded)) {
      return false;
    }
    field.counter = kind == "counter";
    field.real = coded == "double";
    field.coding = coded == "edge" ? Coding::kEdge : Coding::kDifference;
    into.push_back(std::move(field));
  }
  return true;
}

const char* coded(const TraceField& field) noexcept {
  if (field.real) return "double";
  return field.coding == Coding::kEdge ? "edge" : "integer";
}

}  // namespace

std::vector<Coding> TraceHeader::codings() const {
  std::vector<Coding> all(fields.size());
  std::transform(fields.begin(), fields.end(), all.begin(), [](const TraceField& field) { return field.coding; });
  return all;
}

std::string trace_schema_text() {
  std::string text = schema_text();
  for (const FieldDescription& field : observation_fields()) {
    text.append("field ").append(field.name).append(" in ").append(field.info.number.unit);
    text.append(" of ").append(field.info.number.source);
    text.append(field.info.number.kind == NumberKind::kCounter ? ", rises" : "").append(field.real ? ", real\n" : "\n");
  }
  for (std::size_t hold = 0; hold < kHolds; ++hold) {
    text.append("hold ").append(name_of(static_cast<Hold>(hold))).append("\n");
  }
  text.append("state ").append(kDeciderState).append("\n");
  return text;
}

TraceHeader this_header(std::uint64_t wall_ns, std::uint64_t time_ns) {
  TraceHeader header{.schema_text = trace_schema_text(), .wall_ns = wall_ns, .time_ns = time_ns};
  header.schema = schema_hex(hash_of(header.schema_text));
  for (const FieldDescription& field : observation_fields()) {
    header.fields.push_back({.name = field.name,
                             .unit = std::string(field.info.number.unit),
                             .source = std::string(field.info.number.source),
                             .counter = field.info.number.kind == NumberKind::kCounter,
                             .real = field.real,
                             .coding = coding_of_field(field.name)});
  }
  for (const Knob& knob : knob_table()) header.knobs.emplace_back(knob.name);
  for (const Lane& lane : kLanes) header.lanes.emplace_back(lane.name);
  for (std::size_t hold = 0; hold < kHolds; ++hold) header.holds.emplace_back(name_of(static_cast<Hold>(hold)));
  return header;
}

json header_to_json(const TraceHeader& header) {
  json fields = json::array();
  for (const TraceField& field : header.fields) {
    fields.push_back({{"name", field.name},
                      {"unit", field.unit},
                      {"source", field.source},
                      {"kind", field.counter ? "counter" : "gauge"},
                      {"coded", coded(field)}});
  }
  return {{"schema", header.schema},     {"schema_text", header.schema_text},
          {"fields", std::move(fields)}, {"knobs", header.knobs},
          {"lanes", header.lanes},       {"holds", header.holds},
          {"wall_ns", header.wall_ns},   {"time_ns", header.time_ns}};
}

Result<TraceHeader> header_from_json(std::string_view text) {
  const json root = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!root.is_object()) return no_header("JSON object");
  TraceHeader header;
  if (!read_text(root, "schema", header.schema)) return no_header("schema");
  if (!read_text(root, "schema_text", header.schema_text)) return no_header("schema_text");
  if (!read_fields(root, header.fields)) return no_header("list of fields");
  if (!read_names(root, "knobs", kMostNames, header.knobs)) return no_header("list of knobs");
  if (!read_names(root, "lanes", kMostLanes, header.lanes)) return no_header("list of lanes");
  if (!read_names(root, "holds", kMostNames, header.holds)) return no_header("list of holds");
  if (!read_time(root, "wall_ns", header.wall_ns) || !read_time(root, "time_ns", header.time_ns)) {
    return no_header("time");
  }
  return header;
}

}  // namespace drapps::trace
