#include "drapps/text/json_lists.h"

#include <simdjson.h>

#include <cstdint>
#include <limits>
#include <new>
#include <string>
#include <utility>

#include "drapps/text/bpe/pair_table.h"

namespace drapps::text {
namespace {

namespace ondemand = simdjson::ondemand;

/// Each function is false for what is not as expected.
class ListReader {
 public:
  explicit ListReader(JsonLists& lists) : scan_(lists.scan) {}

  bool read_vocabulary(ondemand::object list) {
    for (auto field : list) {
      std::string_view token;
      std::uint64_t id = 0;
      if (field.unescaped_key().get(token) || field.value().get_uint64().get(id)) return false;
      if (id > std::numeric_limits<std::uint32_t>::max() || scan_.vocabulary.size() == kMaxMergeIds) return false;
      scan_.vocabulary.push_back({keep(token), id});
    }
    return true;
  }

  bool read_merges(ondemand::array list) {
    for (auto merge : list) {
      ondemand::json_type type{};
      if (merge.type().get(type) || scan_.merges.size() / 2 + 1 >= kMaxRanks) return false;
      if (type == ondemand::json_type::array ? !read_pair(merge.get_array()) : !read_text(merge.get_string())) {
        return false;
      }
    }
    return true;
  }

 private:
  JsonScan::TextRange keep(std::string_view text) {
    const JsonScan::TextRange range{static_cast<std::uint32_t>(scan_.texts.size()),
                                    static_cast<std::uint32_t>(text.size())};
    scan_.texts += text;
    return range;
  }

  bool read_pair(simdjson::simdjson_result<ondemand::array> pair) {
    std::size_t count = 0;
    for (auto each : pair) {
      std::string_view text;
      if (each.get_string().get(text) || ++count > 2) return false;
      scan_.merges.push_back(keep(text));
    }
    return count == 2;
  }

  bool read_text(simdjson::simdjson_result<std::string_view> both) {
    std::string_view text;
    if (std::move(both).get(text)) return false;
    const std::size_t space = text.find(' ');
    if (space == std::string_view::npos || text.find(' ', space + 1) != std::string_view::npos) return false;
    scan_.merges.push_back(keep(text.substr(0, space)));
    scan_.merges.push_back(keep(text.substr(space + 1)));
    return true;
  }

  JsonScan& scan_;
};

/// Sets where `list` stands, which it does once, and goes back to its beginning.
template <class List>
bool find_place(List& list, std::string_view& at) {
  return at.data() == nullptr && !list.raw_json().get(at) && !list.reset().error();
}

bool read_model(ondemand::object model, JsonLists& lists) {
  ListReader reader(lists);
  for (auto field : model) {
    std::string_view name;
    if (field.unescaped_key().get(name)) return false;
    if (name == "vocab") {
      ondemand::object list;
      if (field.value().get_object().get(list) || !find_place(list, lists.vocabulary_at) ||
          !reader.read_vocabulary(list)) {
        return false;
      }
    } else if (name == "merges") {
      ondemand::array list;
      if (field.value().get_array().get(list) || !find_place(list, lists.merges_at) || !reader.read_merges(list)) {
        return false;
      }
    }
  }
  return lists.vocabulary_at.data() != nullptr && lists.merges_at.data() != nullptr;
}

}  // namespace

std::optional<JsonLists> read_json_lists(std::string_view json) {
  const simdjson::padded_string padded(json);
  if (padded.data() == nullptr) throw std::bad_alloc();
  ondemand::parser parser;
  ondemand::document document;
  ondemand::object file;
  if (parser.iterate(padded).get(document) || document.get_object().get(file)) return std::nullopt;
  JsonLists lists;
  lists.scan.texts.reserve(json.size());
  bool has_model = false;
  for (auto field : file) {
    std::string_view name;
    if (field.unescaped_key().get(name)) return std::nullopt;
    if (name != "model") continue;
    ondemand::object model;
    if (has_model || field.value().get_object().get(model) || !read_model(model, lists)) return std::nullopt;
    has_model = true;
  }
  if (!has_model) return std::nullopt;
  const auto in_json = [&](std::string_view at) {
    return json.substr(static_cast<std::size_t>(at.data() - padded.data()), at.size());
  };
  lists.vocabulary_at = in_json(lists.vocabulary_at);
  lists.merges_at = in_json(lists.merges_at);
  return lists;
}

}  // namespace drapps::text
