// The first reading of tokenizer.json: its long lists flat, all else as a tree. For tokenizer_json.cc.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "drapps/base/result.h"

namespace drapps::text {

/// A tokenizer.json. What it holds is bounded: a few times the bytes of its text.
struct JsonScan {
  /// A range of `texts`.
  struct TextRange {
    std::uint32_t begin;
    std::uint32_t size;
  };
  struct VocabularyEntry {
    TextRange token;
    std::uint64_t id;
  };

  nlohmann::json rest;  // without the model's "vocab" and "merges"
  std::string texts;
  std::vector<VocabularyEntry> vocabulary;
  std::vector<TextRange> merges;  // two each
  bool has_vocabulary = false;
  bool has_merges = false;
  std::string damage;  // the first thing that is wrong with those lists

  std::string_view text(TextRange range) const noexcept { return {texts.data() + range.begin, range.size}; }
};

/// @return kTruncated and kCorrupt for what is no JSON, kTooLarge where it is deeper or has more in it than any
///         tokenizer.
Result<JsonScan> scan_tokenizer_json(std::string_view json);

/// scan_tokenizer_json() by one parser, which is slow with long lists, and knows the place of what is wrong.
Result<JsonScan> scan_tokenizer_json_at_once(std::string_view json);

}  // namespace drapps::text
