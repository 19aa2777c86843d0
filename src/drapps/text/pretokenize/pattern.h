// The patterns by which byte-level tokenizers cut text into pretokens, recognised by their exact regular expressions.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace drapps::text {

/// Who runs a regular expression: `$` and the like do not mean the same to both.
enum class Oracle : std::uint8_t { kTokenizers, kTiktoken };

enum class Pattern : std::uint8_t {
  kGpt2,        // GPT-2, r50k, p50k; ByteLevel's own
  kCl100k,      // cl100k as first published, Llama 3: at most three digits
  kCl100kTail,  // cl100k of newer tiktoken: white space at the end of the text is one pretoken
  kQwen2,       // cl100k with single digits
  kO200k,       // o200k: words by case
  kTekken,      // Mistral's tekken: o200k with single digits, and without contractions
  kDeepSeek,    // DeepSeek V3: numbers, Han and kana, and the rest, one behind the other
};

inline constexpr std::array kPatterns = {Pattern::kGpt2,  Pattern::kCl100k, Pattern::kCl100kTail, Pattern::kQwen2,
                                         Pattern::kO200k, Pattern::kTekken, Pattern::kDeepSeek};

/// The pattern that `regex` is, where it is one of those that are known to the letter.
std::optional<Pattern> pattern_of(std::string_view regex, Oracle oracle) noexcept;
/// The pattern of expressions each of which cuts the pieces of the one before, as `tokenizers` has them.
std::optional<Pattern> pattern_of(std::span<const std::string> regexes) noexcept;

/// "gpt2", "cl100k", "cl100k-tail", "qwen2", "o200k", "tekken" or "deepseek".
std::string_view name_of(Pattern pattern) noexcept;

/// End of the pretoken that begins at `text`; > text. Requires text < end and valid UTF-8. This is the reference that
/// the SIMD levels are compared with.
using Match = const std::uint8_t* (*)(const std::uint8_t* text, const std::uint8_t* end) noexcept;
Match match_of(Pattern pattern) noexcept;

}  // namespace drapps::text
