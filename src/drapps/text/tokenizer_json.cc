#include "drapps/text/tokenizer_json.h"

#include <algorithm>
#include <span>
#include <string>

#include "drapps/base/caught.h"
#include "drapps/text/json_added.h"
#include "drapps/text/json_model.h"
#include "drapps/text/json_post.h"
#include "drapps/text/json_read.h"
#include "drapps/text/json_scan.h"
#include "drapps/text/refusal.h"

namespace drapps::text {
namespace {

Result<std::string> regex_of(const Json& split) {
  const bool all_kept = (has(split, "behavior", "Isolated", false) && has(split, "invert", false, false)) ||
                        (has(split, "behavior", "Removed", false) && has(split, "invert", true, false));
  if (!all_kept) return refused("a Split that does not keep the matches of its pattern apart");
  const auto pattern = split.find("pattern");
  if (pattern == split.end() || !pattern->is_object() || !pattern->contains("Regex") ||
      !(*pattern)["Regex"].is_string()) {
    return refused("a Split by a string");
  }
  return (*pattern)["Regex"].get<std::string>();
}

/// The pattern of the Splits before the last step.
Result<Pattern> pattern_of_splits(std::span<const Json> steps) {
  std::vector<std::string> regexes;
  std::string all;
  for (const Json& step : steps.first(steps.size() - 1)) {
    auto regex = regex_of(step);
    if (!regex.ok()) return std::move(regex).error();
    all += (all.empty() ? "" : ", then ") + *regex;
    regexes.push_back(*std::move(regex));
  }
  if (const auto known = pattern_of(regexes)) return *known;
  return refused("the pattern " + all);
}

Result<Pattern> read_pattern(const Json& file) {
  if (is_unset(file, "pre_tokenizer")) return refused("no pre_tokenizer");
  const Json& top = file["pre_tokenizer"];
  std::vector<Json> steps{top};
  if (top.is_object() && has(top, "type", "Sequence", false)) {
    const auto inner = top.find("pretokenizers");
    if (inner == top.end() || !inner->is_array()) return refused("the pre_tokenizer " + top.dump());
    steps = inner->get<std::vector<Json>>();
  }
  if (steps.empty() || type_of(steps.back()) != "ByteLevel") {
    return refused("the pre_tokenizer " + type_of(steps.empty() ? top : steps.back()));
  }
  const Json& bytes = steps.back();
  if (!has(bytes, "add_prefix_space", false, false)) return refused("add_prefix_space of ByteLevel");
  const bool own_pattern = has(bytes, "use_regex", true, true);
  if (steps.size() == 1 && own_pattern) return Pattern::kGpt2;
  const auto is_split = [](const Json& step) { return type_of(step) == "Split"; };
  if (steps.size() > 1 && !own_pattern && std::all_of(steps.begin(), steps.end() - 1, is_split)) {
    return pattern_of_splits(steps);
  }
  std::string chain;
  for (const Json& step : steps) chain += (chain.empty() ? "" : ", ") + type_of(step);
  return refused("the pre_tokenizers " + chain);
}

/// Appends the forms that a normalizer makes; false for any other.
bool read_forms(const Json& normalizer, std::vector<Form>& forms) {
  constexpr std::pair<const char*, Form> kForms[] = {
      {"NFC", Form::kNfc}, {"NFD", Form::kNfd}, {"NFKC", Form::kNfkc}, {"NFKD", Form::kNfkd}};
  const std::string type = type_of(normalizer);
  for (const auto& [name, form] : kForms) {
    if (type != name) continue;
    forms.push_back(form);
    return true;
  }
  if (type != "Sequence" || !normalizer.contains("normalizers") || !normalizer["normalizers"].is_array()) return false;
  const Json& steps = normalizer["normalizers"];
  return std::all_of(steps.begin(), steps.end(),
                     [&](const Json& step) { return type_of(step) != "Sequence" && read_forms(step, forms); });
}

Result<TokenizerParts> read(const JsonScan& scan, bool limits) {
  const Json& file = scan.rest;
  if (!file.is_object()) return Error{.code = ErrorCode::kCorrupt, .message = "is no JSON object"};
  if (is_unset(file, "model") || !file["model"].is_object()) {
    return Error{.code = ErrorCode::kCorrupt, .message = "has no model; is it a tokenizer.json?"};
  }
  TokenizerParts parts;
  if (!is_unset(file, "normalizer") && !read_forms(file["normalizer"], parts.forms)) {
    return refused("the normalizer " + type_of(file["normalizer"]));
  }
  if (limits && !is_unset(file, "truncation")) return refused("truncation");
  if (limits && !is_unset(file, "padding")) return refused("padding");
  auto pattern = read_pattern(file);
  if (!pattern.ok()) return std::move(pattern).error();
  parts.pattern = *pattern;
  TokenTable ids;
  DRAPPS_RETURN_IF_ERROR(read_json_model(scan, ids, parts));
  const auto added = file.find("added_tokens");
  if (added != file.end() && !added->is_null()) DRAPPS_RETURN_IF_ERROR(read_json_added(*added, ids, parts));
  parts.decodes = !is_unset(file, "decoder") && type_of(file["decoder"]) == "ByteLevel";
  const auto post = file.find("post_processor");
  if (post != file.end() && !post->is_null()) DRAPPS_RETURN_IF_ERROR(read_json_post_processor(*post, parts));
  return parts;
}

}  // namespace

Result<TokenizerParts> parse_tokenizer_json(std::string_view json, bool limits) {
  if (json.size() > kMaxJson) {
    return Error{.code = ErrorCode::kTooLarge,
                 .message = "has " + std::to_string(json.size()) + " bytes, and the most that are read are " +
                            std::to_string(kMaxJson)};
  }
  return catching([&]() -> Result<TokenizerParts> {
    const auto scan = scan_tokenizer_json(json);
    if (!scan.ok()) return scan.error();
    return read(*scan, limits);
  });
}

}  // namespace drapps::text
