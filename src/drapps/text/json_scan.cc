#include "drapps/text/json_scan.h"

#include <optional>
#include <utility>

#include "drapps/text/bpe/pair_table.h"
#include "drapps/text/json_lists.h"
#include "drapps/text/json_read.h"
#include "drapps/text/refusal.h"

namespace drapps::text {
namespace {

/// Limits of the tree: tokenizers of today have some thousand nodes in it, nine for each added token.
constexpr std::size_t kMaxDepth = 64;
constexpr std::size_t kMaxNodes = std::size_t{1} << 18;

/// Takes what nlohmann's parser finds, in its order.
class Scanner {
 public:
  explicit Scanner(std::size_t size) : size_(size) {}

  bool null() { return value(nullptr, "null"); }
  bool boolean(bool value_of) { return value(value_of, value_of ? "true" : "false"); }
  bool number_integer(std::int64_t number) { return value(number, std::to_string(number)); }
  bool number_unsigned(std::uint64_t number) {
    if (mode_ != Mode::kVocabulary) return value(number, std::to_string(number));
    if (number > ~std::uint32_t{0}) return value(number, std::to_string(number));
    scan_.vocabulary.push_back({key_range_, number});
    return scan_.vocabulary.size() <= kMaxMergeIds || too_large("a million tokens");
  }
  bool number_float(double number, const std::string& text) { return value(number, text); }
  bool string(std::string& text) {
    if (mode_ == Mode::kMerge) {
      scan_.merges.push_back(keep(text));
      return true;
    }
    if (mode_ == Mode::kMerges) return merge(text);
    return value(std::move(text), "a text");
  }
  bool binary(std::vector<std::uint8_t>&) { return true; }  // which JSON has none of

  bool key(std::string& text) {
    if (mode_ == Mode::kVocabulary) {
      key_range_ = keep(text);
    } else if (mode_ == Mode::kTree) {
      key_ = std::move(text);
    }
    return true;
  }
  bool start_object(std::size_t) {
    if (mode_ == Mode::kTree && in_model() && key_ == "vocab") {
      scan_.has_vocabulary = true;
      scan_.vocabulary.clear();
      mode_ = Mode::kVocabulary;
      return true;
    }
    return open(Json::object(), "an object");
  }
  bool start_array(std::size_t) {
    if (mode_ == Mode::kTree && in_model() && key_ == "merges") {
      scan_.has_merges = true;
      scan_.merges.clear();
      mode_ = Mode::kMerges;
      return true;
    }
    if (mode_ == Mode::kMerges) {
      merge_begin_ = scan_.merges.size();
      mode_ = Mode::kMerge;
      return true;
    }
    if (mode_ == Mode::kTree && in_model() && key_ == "vocab") {  // the vocabulary of another kind of model
      mode_ = Mode::kSkip;
      skipped_ = 1;
      return true;
    }
    return open(Json::array(), "a list");
  }
  bool end_object() { return end(); }
  bool end_array() { return end(); }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) {
    const bool ended = position > size_;
    error_ = Error{.code = ended ? ErrorCode::kTruncated : ErrorCode::kCorrupt,
                   .message = ended ? "ends in the middle of its JSON" : "is no JSON there",
                   .offset = static_cast<std::int64_t>(position == 0 ? 0 : position - 1)};
    return false;
  }

  Result<JsonScan> take() {
    if (error_) return *std::move(error_);
    return std::move(scan_);
  }

 private:
  enum class Mode : std::uint8_t { kTree, kVocabulary, kMerges, kMerge, kSkip };

  bool in_model() const noexcept { return open_.size() == 2 && model_; }

  bool too_large(const std::string& what) {
    error_ = Error{.code = ErrorCode::kTooLarge, .message = "has more in it than " + what};
    return false;
  }

  JsonScan::TextRange keep(const std::string& text) {
    const JsonScan::TextRange range{static_cast<std::uint32_t>(scan_.texts.size()),
                                    static_cast<std::uint32_t>(text.size())};
    scan_.texts += text;
    return range;
  }

  void damaged(const std::string& what) {
    if (scan_.damage.empty()) scan_.damage = what;
  }
  void damaged_merge(std::size_t number) {
    damaged("has a merge " + std::to_string(number) + " that is no pair of strings");
  }

  /// Something in a list where it does not belong.
  void misplaced(const std::string& shown) {
    if (mode_ == Mode::kVocabulary) {
      damaged("gives the token '" + std::string(scan_.text(key_range_)) + "' the id " + shown +
              ", which is no number of 32 bits");
    } else if (mode_ != Mode::kSkip) {
      damaged_merge((mode_ == Mode::kMerge ? merge_begin_ : scan_.merges.size()) / 2);
    }
  }

  bool merge(const std::string& both) {
    const std::size_t space = both.find(' ');
    if (space == std::string::npos || both.find(' ', space + 1) != std::string::npos) {
      damaged_merge(scan_.merges.size() / 2);
      return true;
    }
    scan_.merges.push_back(keep(both.substr(0, space)));
    scan_.merges.push_back(keep(both.substr(space + 1)));
    return counted_merges();
  }
  bool counted_merges() { return scan_.merges.size() / 2 < kMaxRanks || too_large("four million merges"); }

  Json* add(Json node) {
    ++nodes_;
    if (open_.empty()) return &(scan_.rest = std::move(node));
    if (open_.back()->is_array()) {
      open_.back()->push_back(std::move(node));
      return &open_.back()->back();
    }
    return &((*open_.back())[key_] = std::move(node));
  }

  bool value(Json node, const std::string& shown) {
    if (mode_ != Mode::kTree) {
      misplaced(shown);
      return true;
    }
    add(std::move(node));
    return nodes_ <= kMaxNodes || too_large("any tokenizer");
  }

  bool open(Json node, const std::string& shown) {
    if (mode_ != Mode::kTree) {
      if (mode_ != Mode::kSkip) {
        misplaced(shown);
        before_skip_ = mode_;
        mode_ = Mode::kSkip;
      }
      ++skipped_;
      return true;
    }
    if (open_.size() == 1) model_ = key_ == "model" && node.is_object() && open_.back()->is_object();
    open_.push_back(add(std::move(node)));
    if (open_.size() > kMaxDepth) return too_large("any tokenizer: lists in lists");
    return nodes_ <= kMaxNodes || too_large("any tokenizer");
  }

  bool end() {
    switch (mode_) {
      case Mode::kTree: open_.pop_back(); return true;
      case Mode::kVocabulary:
      case Mode::kMerges: mode_ = Mode::kTree; return true;
      case Mode::kMerge:
        mode_ = Mode::kMerges;
        if (scan_.merges.size() != merge_begin_ + 2) {
          damaged_merge(merge_begin_ / 2);
          scan_.merges.resize(merge_begin_);
        }
        return counted_merges();
      case Mode::kSkip: break;
    }
    if (--skipped_ == 0) mode_ = std::exchange(before_skip_, Mode::kTree);
    return true;
  }

  const std::size_t size_;
  JsonScan scan_;
  std::optional<Error> error_;
  Mode mode_ = Mode::kTree;
  Mode before_skip_ = Mode::kTree;
  std::size_t skipped_ = 0;  // objects and lists that are open and not kept
  std::vector<Json*> open_;  // of the tree, outermost first
  bool model_ = false;       // whether the second of them is the model
  std::size_t nodes_ = 0;
  std::string key_;
  JsonScan::TextRange key_range_{};
  std::size_t merge_begin_ = 0;
};

/// The file with nothing in its two lists.
std::string without_lists(std::string_view json, const JsonLists& lists) {
  const bool in_order = lists.vocabulary_at.data() < lists.merges_at.data();
  const std::string_view first = in_order ? lists.vocabulary_at : lists.merges_at;
  const std::string_view second = in_order ? lists.merges_at : lists.vocabulary_at;
  const auto at = [&](const char* place) { return static_cast<std::size_t>(place - json.data()); };
  const std::size_t behind = at(first.data()) + first.size();
  std::string rest(json.substr(0, at(first.data())));
  rest += in_order ? "{}" : "[]";
  rest += json.substr(behind, at(second.data()) - behind);
  rest += in_order ? "[]" : "{}";
  rest += json.substr(at(second.data()) + second.size());
  return rest;
}

}  // namespace

Result<JsonScan> scan_tokenizer_json_at_once(std::string_view json) {
  Scanner scanner(json.size());
  Json::sax_parse(json, &scanner);
  return scanner.take();
}

Result<JsonScan> scan_tokenizer_json(std::string_view json) {
  auto lists = read_json_lists(json);
  if (!lists) return scan_tokenizer_json_at_once(json);
  auto rest = scan_tokenizer_json_at_once(without_lists(json, *lists));
  if (!rest.ok()) return scan_tokenizer_json_at_once(json);  // for the place of what is wrong
  lists->scan.rest = std::move(rest->rest);
  lists->scan.has_vocabulary = lists->scan.has_merges = true;
  return std::move(lists->scan);
}

}  // namespace drapps::text
