#include "drapps/text/bpe/word_kernels.h"

#include <algorithm>

#include "drapps/text/bpe/part_cutter.h"

namespace drapps::text {
namespace {

bool has_parts(const std::uint8_t* text, std::size_t size) noexcept {
  return std::any_of(text, text + size,
                     [](std::uint8_t byte) { return byte >= PartCutter::kFirstLead && byte <= PartCutter::kLastLead; });
}

std::size_t locate_one_by_one(PretokenBatch& batch, const std::uint8_t* end, const WordSets& words,
                              std::uint32_t* long_ones) noexcept {
  std::size_t n = 0;
  std::uint32_t begin = 0;
  for (std::size_t i = 0; i < batch.size; ++i) {
    const std::uint32_t size = batch.ends[i] - begin;
    batch.keys[i] = WordKey::of(batch.text + begin, size, end).as_part(batch.is_part[i]);
    batch.places[i] = words.place_of(batch.keys[i]);
    long_ones[n] = static_cast<std::uint32_t>(i);
    n += size > WordKey::kMaxSize;
    begin = batch.ends[i];
  }
  return n;
}

std::size_t copy_one_by_one(const PretokenBatch& batch, std::size_t number, const WordSets& words,
                            TokenId*& out) noexcept {
  TokenId* to = out;
  for (; number < batch.size; ++number) {
    const std::size_t known = words.find(batch.keys[number], batch.places[number], to);
    if (known == 0) break;
    to += known;
  }
  out = to;
  return number;
}

}  // namespace

const WordKernels kWordsPortable = {.has_parts = has_parts, .locate = locate_one_by_one, .copy_known = copy_one_by_one};

const WordKernels& word_kernels(kernel::Level level) noexcept {
  return level >= kernel::Level::kAvx512 ? kWordsAvx512 : kWordsPortable;
}

}  // namespace drapps::text
