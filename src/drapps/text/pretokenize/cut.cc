#include "drapps/text/pretokenize/cut.h"

#include "drapps/text/pretokenize/cut_kernels.h"
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

Cut CutKernels::* member_of(Pattern pattern) noexcept {
  switch (pattern) {
    case Pattern::kGpt2: return &CutKernels::gpt2;
    case Pattern::kCl100k: return &CutKernels::cl100k;
    case Pattern::kCl100kTail: return &CutKernels::cl100k_tail;
    case Pattern::kQwen2: return &CutKernels::qwen2;
    case Pattern::kO200k: return &CutKernels::o200k;
    case Pattern::kTekken: return &CutKernels::tekken;
    case Pattern::kDeepSeek: break;
  }
  return &CutKernels::deepseek;
}

}  // namespace

const CutKernels kCutPortable = {
    .gpt2 = cut_one_by_one<match_gpt2>,
    .cl100k = cut_one_by_one<match_cl100k>,
    .cl100k_tail = cut_one_by_one<match_cl100k_tail>,
    .qwen2 = cut_one_by_one<match_qwen2>,
    .o200k = cut_one_by_one<match_o200k>,
    .tekken = cut_one_by_one<match_tekken>,
    .deepseek = cut_one_by_one<match_deepseek>,
};

Cut cut_of(Pattern pattern, kernel::Level level) noexcept {
  const auto member = member_of(pattern);
  if (level >= kernel::Level::kAvx512 && kCutAvx512.*member != nullptr) return kCutAvx512.*member;
  if (level >= kernel::Level::kAvx2 && kCutAvx2.*member != nullptr) return kCutAvx2.*member;
  return kCutPortable.*member;
}

}  // namespace drapps::text
