#include "drapps/text/rows.h"

#include <algorithm>
#include <utility>

#include "drapps/base/caught.h"
#include "drapps/text/refusal.h"

namespace drapps::text {
namespace {

/// Tokens of a text, counted from its first.
struct TokenStretch {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool overflow = false;

  std::size_t size() const noexcept { return end - begin; }
};

/// What stays of `tokens` that are cut to `most`, and then what was cut off. False for strides that do not advance.
bool cut(std::size_t tokens, std::size_t most, const RowOptions& options, std::vector<TokenStretch>& out) {
  out.clear();
  if (most >= tokens) {
    out.push_back({0, tokens});
  } else if (most == 0) {
    out.insert(out.end(), {{0, 0}, {0, tokens, true}});
  } else if (options.stride >= most) {
    return false;
  } else {
    const std::size_t step = most - options.stride;
    for (std::size_t done = 0;; done += step) {  // tokens from the side that is kept
      const std::size_t reached = std::min(done + most, tokens);
      const bool first = out.empty();
      out.push_back(options.cut_left ? TokenStretch{tokens - reached, tokens - done, !first}
                                     : TokenStretch{done, reached, !first});
      if (reached == tokens) break;
    }
  }
  return true;
}

/// How many tokens of each text stay.
struct KeptTokens {
  std::size_t first;
  std::size_t second;
};

/// How many tokens of each text stay, of `most` together, as truncate_encodings() of `tokenizers` has it. False where
/// that is an error.
bool keep(std::size_t most, bool pair, Cutting cutting, KeptTokens& kept) {
  if (most == 0) {
    kept = {0, 0};
    return true;
  }
  const std::size_t total = kept.first + kept.second;
  if (total <= most) return true;
  const std::size_t removed = total - most;
  if (cutting == Cutting::kLongestFirst) {
    if (!pair) {
      kept.first = most;
      return true;
    }
    std::size_t& shorter = kept.first > kept.second ? kept.second : kept.first;
    std::size_t& longer = kept.first > kept.second ? kept.first : kept.second;
    longer = shorter > most ? shorter : std::max(shorter, most - shorter);
    if (shorter + longer > most) {
      shorter = most / 2;
      longer = shorter + most % 2;
    }
    return true;
  }
  if (cutting == Cutting::kSecond && !pair) return false;
  std::size_t& target = cutting == Cutting::kFirst ? kept.first : kept.second;
  if (target <= removed) return false;
  target -= removed;
  return true;
}

/// A row: which tokens of its texts it has.
struct TextRow {
  std::size_t sample;
  TokenStretch first;
  TokenStretch second;
};

/// Makes rows of tokens.
class RowMaker {
 public:
  RowMaker(const Template& pieces, Trim trim, const Tokenizer::Encoded& encoded, std::size_t samples, bool pairs,
           const RowOptions& options)
      : encoded_(encoded), options_(options), samples_(samples), pairs_(pairs), pieces_(pieces), trim_(trim) {
    added_ = options.specials ? added_by(pieces_) : 0;
    const auto of_text = [](const Piece& piece) { return piece.of != Piece::Of::kTemplate; };
    second_leads_ = pairs && std::find_if(pieces_.begin(), pieces_.end(), of_text)->of == Piece::Of::kSecond;
  }

  Result<Rows> make() {
    for (std::size_t sample = 0; sample < samples_; ++sample) {
      if (!list(sample)) return refused("a truncation that `tokenizers` refuses");
    }
    Rows out;
    out.begins.reserve(rows_.size() + 1);
    out.begins.push_back(0);
    const std::size_t target = padded_length();
    for (const TextRow& row : rows_) {
      out.samples.push_back(static_cast<std::int64_t>(row.sample));
      out.begins.push_back(out.begins.back() + static_cast<std::int64_t>(std::max(size_of(row), target)));
    }
    const auto total = static_cast<std::size_t>(out.begins.back());
    out.ids.resize(total, options_.pad_id);
    if (options_.types) out.types.resize(total, options_.pad_type);
    if (options_.attention) out.attention.resize(total, 0);
    if (options_.special_mask) out.special_mask.resize(total, 1);
    if (options_.places) out.places.resize(2 * total, 0);
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      auto at = static_cast<std::size_t>(out.begins[i]);
      const auto end = static_cast<std::size_t>(out.begins[i + 1]);
      if (options_.pad_left) at = end - size_of(rows_[i]);
      fill(rows_[i], at, out);
    }
    return out;
  }

 private:
  std::size_t token_begin(std::size_t text) const noexcept { return static_cast<std::size_t>(encoded_.offsets[text]); }
  std::size_t tokens_of(std::size_t text) const noexcept { return token_begin(text + 1) - token_begin(text); }
  std::size_t size_of(const TextRow& row) const noexcept { return added_ + row.first.size() + row.second.size(); }

  /// Lists the rows of a sample, in the order in which `tokenizers` merges what overflows.
  bool list(std::size_t sample) {
    KeptTokens kept{tokens_of(sample), pairs_ ? tokens_of(samples_ + sample) : 0};
    const KeptTokens all = kept;
    if (options_.cutting != Cutting::kNone) {
      if (options_.max_length < added_) return false;
      if (!keep(options_.max_length - added_, pairs_, options_.cutting, kept)) return false;
    }
    if (!cut(all.first, kept.first, options_, firsts_) || !cut(all.second, kept.second, options_, seconds_)) {
      return false;
    }
    rows_.push_back({sample, firsts_[0], seconds_[0]});
    longest_ = std::max(longest_, size_of(rows_.back()));
    if (!options_.overflowing) return true;
    const auto& leading = second_leads_ ? seconds_ : firsts_;
    const auto& others = second_leads_ ? firsts_ : seconds_;
    for (std::size_t i = 1; i <= leading.size(); ++i) {  // the main one comes last
      const std::size_t lead = i % leading.size();
      for (std::size_t other = lead == 0 ? 1 : 0; other < others.size(); ++other) {
        rows_.push_back(
            {sample, second_leads_ ? others[other] : leading[lead], second_leads_ ? leading[lead] : others[other]});
      }
    }
    return true;
  }

  std::size_t padded_length() const noexcept {
    if (options_.padding == Padding::kNone) return 0;
    std::size_t length = options_.padding == Padding::kLength ? options_.length : longest_;
    if (options_.multiple > 0 && length % options_.multiple > 0)
      length += options_.multiple - length % options_.multiple;
    return length;
  }

  void fill(const TextRow& row, std::size_t at, Rows& out) const {
    for (const Piece& piece : pieces_) {
      if (piece.of == Piece::Of::kTemplate) {
        if (!options_.specials) continue;
        for (const TokenId id : piece.ids) {
          out.ids[at] = id;
          if (options_.types) out.types[at] = piece.type;
          if (options_.attention) out.attention[at] = 1;
          ++at;
        }
        continue;
      }
      const bool second = piece.of == Piece::Of::kSecond;
      const TokenStretch& stretch = second ? row.second : row.first;
      // A template gives its types to what stays, and not to what was cut off.
      const std::int64_t type = stretch.overflow ? second : piece.type;
      const std::size_t from = token_begin(second ? samples_ + row.sample : row.sample) + stretch.begin;
      const std::size_t size = stretch.size();
      std::copy_n(encoded_.ids.data() + from, size, out.ids.data() + at);
      if (options_.types) std::fill_n(out.types.data() + at, size, type);
      if (options_.attention) std::fill_n(out.attention.data() + at, size, 1);
      if (options_.special_mask) std::fill_n(out.special_mask.data() + at, size, 0);
      if (options_.places) fill_places(from, size, out.places.data() + 2 * at);
      at += size;
    }
  }

  void fill_places(std::size_t from, std::size_t size, std::int64_t* out) const {
    const Places& places = encoded_.places;
    for (std::size_t i = 0; i < size; ++i, out += 2) {
      std::int32_t begin = places.begins[from + i];
      std::int32_t end = places.ends[from + i];
      if (trim_ != Trim::kNone) {
        std::int32_t leading = places.leading[from + i];
        const std::int32_t trailing = places.trailing[from + i];
        // One space may be that which was put before the text; of more none is.
        if (trim_ == Trim::kAllButFirst && leading == 1 && (i == 0 || begin == 0)) leading = 0;
        begin = std::min(begin + leading, end);
        if (end >= trailing) end = std::max(end - trailing, begin);
      }
      out[0] = begin;
      out[1] = end;
    }
  }

  const Tokenizer::Encoded& encoded_;
  const RowOptions& options_;
  const std::size_t samples_;
  const bool pairs_;
  const Template& pieces_;
  const Trim trim_;
  std::size_t added_ = 0;
  bool second_leads_ = false;
  std::vector<TextRow> rows_;
  std::size_t longest_ = 0;  // of the rows that are not of what was cut off
  std::vector<TokenStretch> firsts_;
  std::vector<TokenStretch> seconds_;
};

}  // namespace

Result<Rows> make_rows(const Tokenizer& tokenizer, const std::vector<std::string_view>& texts,
                       const std::vector<std::string_view>* seconds, const RowOptions& options,
                       const CallResources& resources) {
  const std::optional<Template>& pair = tokenizer.pair();
  if (seconds != nullptr && !pair) return refused("a template that has not each of two texts once");
  const Template& pieces = seconds != nullptr && pair ? *pair : tokenizer.single();
  if (options.cutting != Cutting::kNone && options.max_length < added_by(tokenizer.single()) + options.stride) {
    return refused("a stride beyond the length that a template leaves");
  }
  return catching([&]() -> Result<Rows> {
    std::vector<std::string_view> all;
    if (seconds != nullptr) {
      all = texts;
      all.insert(all.end(), seconds->begin(), seconds->end());
    }
    auto encoded =
        tokenizer.encode(seconds != nullptr ? all : texts, 0, {.specials = false, .places = options.places}, resources);
    if (!encoded.ok()) return std::move(encoded).error();
    return RowMaker(pieces, tokenizer.trim(), *encoded, texts.size(), seconds != nullptr, options).make();
  });
}

}  // namespace drapps::text
