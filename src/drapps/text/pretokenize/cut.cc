#include "drapps/text/pretokenize/cut.h"

#include "drapps/text/pretokenize/match.h"

namespace drapps::text {
namespace {

template <Match kMatch>
std::size_t cut_one_by_one(const std::uint8_t* text, std::size_t size, std::uint32_t* ends,
                           std::size_t capacity) noexcept {
  const std::uint8_t* const end = text + size;
  const std::uint8_t* p = text;
  std::size_t n = 0;
  while (p < end && n < capacity) {
    p = kMatch(p, end);
    ends[n++] = static_cast<std::uint32_t>(p - text);
  }
  return n;
}

}  // namespace

Cut cut_of(Pattern pattern, kernel::Level /*level*/) noexcept {
  switch (pattern) {
    case Pattern::kGpt2: return cut_one_by_one<match_gpt2>;
    case Pattern::kCl100k: return cut_one_by_one<match_cl100k>;
    case Pattern::kCl100kTail: return cut_one_by_one<match_cl100k_tail>;
    case Pattern::kQwen2: return cut_one_by_one<match_qwen2>;
    case Pattern::kO200k: break;
  }
  return cut_one_by_one<match_o200k>;
}

}  // namespace drapps::text
