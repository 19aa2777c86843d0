#include "drapps/policy/config.h"

#include <charconv>
#include <nlohmann/json.hpp>

#include "drapps/plant/schema.h"

namespace drapps {
namespace {

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint64_t kLongestPaceNs = 3'600'000'000'000;
constexpr std::uint64_t kLongestPaceBatches = 1'000'000'000;

std::string to_base64(const std::vector<std::byte>& bytes) {
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t here = std::min<std::size_t>(3, bytes.size() - at);
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 3; ++i)
      group = group << 8 | (i < here ? std::to_integer<std::uint32_t>(bytes[at + i]) : 0);
    for (std::size_t i = 0; i < 4; ++i) text.push_back(i <= here ? kDigits[group >> (18 - 6 * i) & 63] : '=');
  }
  return text;
}

/// Only what to_base64() writes: padded, without blanks, and without bits behind the last byte.
std::optional<std::vector<std::byte>> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::vector<std::byte> bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (std::size_t at = 0; at < text.size(); at += 4) {
    std::string_view group = text.substr(at, 4);
    if (at + 4 == text.size()) group = group.substr(0, group.find('='));
    if (group.size() < 2) return std::nullopt;
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      const std::size_t digit = i < group.size() ? kDigits.find(group[i]) : 0;
      if (digit == std::string_view::npos) return std::nullopt;
      bits = bits << 6 | static_cast<std::uint32_t>(digit);
    }
    for (std::size_t i = 0; i + 1 < group.size(); ++i) bytes.push_back(static_cast<std::byte>(bits >> (16 - 8 * i)));
  }
  return to_base64(bytes) == text ? std::optional(std::move(bytes)) : std::nullopt;
}

Status read_pace(const nlohmann::json& value, const char* name, std::uint64_t most, std::uint64_t& into) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() < 1 || value.get<std::uint64_t>() > most) {
    return invalid(std::string(name) + " of a policy must be a whole number from 1 to " + std::to_string(most));
  }
  into = value.get<std::uint64_t>();
  return ok_status();
}

Status read_parameters(const nlohmann::json& value, PolicyConfig& config) {
  if (!value.is_object()) return invalid("parameters of a policy must be an object of numbers");
  for (const auto& [name, number] : value.items()) {
    if (!number.is_number()) return invalid("the parameter " + name + " of policy " + config.name + " is not a number");
    config.parameters[name] = number.get<double>();
  }
  return ok_status();
}

Status read_weights(const nlohmann::json& value, PolicyConfig& config) {
  if (!value.is_string()) return invalid("weights of a policy must be text in base64");
  const auto& text = value.get_ref<const std::string&>();
  if (text.size() > (kMostWeightBytes + 2) / 3 * 4) {
    return invalid("weights of a policy may be " + std::to_string(kMostWeightBytes) + " bytes at most");
  }
  auto bytes = from_base64(text);
  if (!bytes) return invalid("weights of a policy are not valid base64");
  config.weights = *std::move(bytes);
  return ok_status();
}

Status read_schema(const nlohmann::json& value, PolicyConfig& config) {
  if (!value.is_string()) return invalid("schema of a policy must be text");
  const auto& text = value.get_ref<const std::string&>();
  std::from_chars(text.data(), text.data() + text.size(), config.schema, 16);
  return schema_hex(config.schema) == text ? ok_status() : invalid("schema of a policy must be 16 hex digits");
}

Status read_member(const std::string& key, const nlohmann::json& value, PolicyConfig& config) {
  if (key == "name") return ok_status();
  if (key == "parameters") return read_parameters(value, config);
  if (key == "weights") return read_weights(value, config);
  if (key == "schema") return read_schema(value, config);
  if (key == "judge" || key == "learn") {
    if (!value.is_boolean()) return invalid(key + " of a policy must be true or false");
    (key == "judge" ? config.judge : config.learn) = value.get<bool>();
    return ok_status();
  }
  if (key == "keep_in") {
    if (!value.is_string()) return invalid("keep_in of a policy must be a folder");
    config.keep_in = value.get<std::string>();
    return ok_status();
  }
  if (key != "every_ns" && key != "every_batches") {
    return invalid("a policy has no \"" + key +
                   "\"; it has name, parameters, every_ns, every_batches, judge, weights, schema, learn, keep_in");
  }
  if (!config.pace) config.pace = KnobClock{};
  return key == "every_ns" ? read_pace(value, "every_ns", kLongestPaceNs, config.pace->period_ns)
                           : read_pace(value, "every_batches", kLongestPaceBatches, config.pace->count);
}

}  // namespace

nlohmann::json policy_config_to_json(const PolicyConfig& config) {
  nlohmann::json json{{"name", config.name}};
  if (!config.parameters.empty()) json["parameters"] = config.parameters;
  if (config.pace && config.pace->period_ns != 0) json["every_ns"] = config.pace->period_ns;
  if (config.pace && config.pace->count != 0) json["every_batches"] = config.pace->count;
  if (!config.weights.empty()) json["weights"] = to_base64(config.weights);
  if (config.judge) json["judge"] = true;
  if (config.learn) json["learn"] = true;
  if (!config.keep_in.empty()) json["keep_in"] = config.keep_in;
  if (config.schema != 0) json["schema"] = schema_hex(config.schema);
  return json;
}

Result<PolicyConfig> policy_config_from_json(const nlohmann::json& json) {
  const nlohmann::json name = json.is_object() ? json.value("name", nlohmann::json()) : json;
  if (!name.is_string()) return invalid("a policy is a name, or an object with a name");
  PolicyConfig config{.name = name.get<std::string>()};
  if (!json.is_object()) return config;
  for (const auto& [key, value] : json.items()) DRAPPS_RETURN_IF_ERROR(read_member(key, value, config));
  return config;
}

}  // namespace drapps
