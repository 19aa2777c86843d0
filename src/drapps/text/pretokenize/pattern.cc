#include "drapps/text/pretokenize/pattern.h"

#include <algorithm>
#include <iterator>

#include "drapps/text/pretokenize/match.h"

namespace drapps::text {
namespace {

struct KnownPattern {
  std::string_view regex;
  Pattern pattern;
  bool tokenizers;  // whether it means that to `tokenizers`
};

constexpr KnownPattern kKnown[] = {
    {R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)", Pattern::kGpt2, true},
    {R"('s|'t|'re|'ve|'m|'ll|'d| ?[\p{L}]+| ?[\p{N}]+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)", Pattern::kGpt2, true},
    {R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)", Pattern::kGpt2, true},
    {R"('(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s)", Pattern::kGpt2, false},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|)"
     R"(\s*[\r\n]+|\s+(?!\S)|\s+)",
     Pattern::kCl100k, true},
    {R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|)"
     R"(\s*[\r\n]|\s+(?!\S)|\s+)",
     Pattern::kCl100k, false},
    {R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|)"
     R"(\s*[\r\n]|\s+(?!\S)|\s)",
     Pattern::kCl100kTail, false},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|)"
     R"(\s*[\r\n]+|\s+(?!\S)|\s+)",
     Pattern::kQwen2, true},
    {R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
     R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
     R"(\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     Pattern::kO200k, true},
    {R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|)"
     R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|)"
     R"(\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     Pattern::kTekken, true},
};

// DeepSeek's, of which the last has newlines as they are, or escaped as others do.
constexpr std::string_view kDeepSeekNumbers = R"(\p{N}{1,3})";
constexpr std::string_view kDeepSeekHan = "[\u4E00-\u9FA5\u3040-\u309F\u30A0-\u30FF]+";
constexpr std::string_view kDeepSeekRest[] = {
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^)"
    "\r\n"
    R"(\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[)"
    "\r\n"
    R"(]*|\s*[)"
    "\r\n"
    R"(]+|\s+(?!\S)|\s+)",
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|)"
    R"( ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
};

}  // namespace

std::optional<Pattern> pattern_of(std::span<const std::string> regexes) noexcept {
  if (regexes.size() == 1) return pattern_of(regexes[0], Oracle::kTokenizers);
  const bool deepseek = regexes.size() == 3 && regexes[0] == kDeepSeekNumbers && regexes[1] == kDeepSeekHan &&
                        std::ranges::find(kDeepSeekRest, regexes[2]) != std::end(kDeepSeekRest);
  return deepseek ? std::optional(Pattern::kDeepSeek) : std::nullopt;
}

std::optional<Pattern> pattern_of(std::string_view regex, Oracle oracle) noexcept {
  for (const KnownPattern& known : kKnown) {
    if (regex == known.regex && (oracle == Oracle::kTiktoken || known.tokenizers)) return known.pattern;
  }
  return std::nullopt;
}

std::string_view name_of(Pattern pattern) noexcept {
  switch (pattern) {
    case Pattern::kGpt2: return "gpt2";
    case Pattern::kCl100k: return "cl100k";
    case Pattern::kCl100kTail: return "cl100k-tail";
    case Pattern::kQwen2: return "qwen2";
    case Pattern::kO200k: return "o200k";
    case Pattern::kTekken: return "tekken";
    case Pattern::kDeepSeek: break;
  }
  return "deepseek";
}

Match match_of(Pattern pattern) noexcept {
  switch (pattern) {
    case Pattern::kGpt2: return match_gpt2;
    case Pattern::kCl100k: return match_cl100k;
    case Pattern::kCl100kTail: return match_cl100k_tail;
    case Pattern::kQwen2: return match_qwen2;
    case Pattern::kO200k: return match_o200k;
    case Pattern::kTekken: return match_tekken;
    case Pattern::kDeepSeek: break;
  }
  return match_deepseek;
}

}  // namespace drapps::text
