#include "drapps/text/bpe/encoder.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <utility>

#include "drapps/base/caught.h"

namespace drapps::text {
namespace {

/// Copies ids, and rubbish up to Encoder's kSlack behind them; the end of the copy.
TokenId* copy_ids(const TokenId* from, const TokenId* end, TokenId* out) noexcept {
  constexpr std::ptrdiff_t kStep = 8;
  TokenId* const copied = out + (end - from);
  for (; from < end; from += kStep, out += kStep) std::memcpy(out, from, kStep * sizeof(TokenId));
  return copied;
}

/// Whether the first letter beyond ASCII is below U+2000 or of Hangul: such words come again, and are remembered whole.
/// Runs of Chinese or Japanese hardly ever do, and would take the places of what does.
bool is_of_alphabet(std::string_view pretoken) noexcept {
  const auto beyond = std::ranges::find_if(pretoken, [](char byte) { return static_cast<std::uint8_t>(byte) >= 0x80; });
  if (beyond == pretoken.end()) return false;
  const auto lead = static_cast<std::uint8_t>(*beyond);
  return lead < 0xE2 || (lead >= 0xEA && lead <= 0xED);
}

/// Fetches as much of the text some batches ahead. The CPU by itself follows a text too late, as a batch is encoded
/// before the next one is read: that took an eighth of the time. Beyond its end often lies the next text.
void fetch_ahead(const std::uint8_t* text, std::uint32_t size) noexcept {
  constexpr std::size_t kAhead = 4096;
  constexpr std::size_t kLine = 64;
  for (std::size_t at = kAhead; at < kAhead + size; at += kLine) __builtin_prefetch(text + at);
}

bool is_ascii(std::string_view pretoken) noexcept {
  return std::ranges::all_of(pretoken, [](char byte) { return static_cast<std::uint8_t>(byte) < 0x80; });
}

/// Asks is(end) for each end of a part within a pretoken of a text, the first one first, until the answer is yes:
/// whether it was.
template <class Is>
bool find_part_end(const Boundaries& boundaries, std::string_view pretoken, const std::uint8_t* text_end,
                   const Is& is) {
  const auto* const p = reinterpret_cast<const std::uint8_t*>(pretoken.data());
  CharBytes left = CharBytes::at(p, text_end);
  for (std::size_t at = left.size; at < pretoken.size();) {
    const CharBytes right = CharBytes::at(p + at, text_end);
    if (!boundaries.crossed(left, right) && is(at)) return true;
    at += right.size;
    left = right;
  }
  return false;
}

}  // namespace

void Encoder::encode(std::string_view text, IdBuffer& out) {
  PretokenBatch batch;
  batch.text = reinterpret_cast<const std::uint8_t*>(text.data());
  end_ = batch.text + text.size();
  while (batch.text < end_) {
    if (grows_ && words_.crowded()) grow();
    cut_batch(batch);
    const std::uint32_t size = batch.ends[batch.size - 1];
    TokenId* ids = out.reserve(size + kSlack);
    TokenId* to = ids;
    std::size_t unknown = 0;
    const WordSets known = words_.sets();
    for (std::size_t i = 0; (i = kernels_.copy_known(batch, i, known, to)) < batch.size; ++i) {
      const WordKey& key = batch.keys[i];
      const std::size_t tokens = key.is_short() ? 0 : find_phrase(word_at(batch, i), to);
      to += tokens;
      if (tokens > 0) continue;
      if (unknown == 0) ids = std::exchange(to, behind_.data());
      unknown_[unknown++] = {i, to, nullptr};
      fetch_unknown(key);
    }
    if (unknown > 0) to = write_unknown(batch, std::span(unknown_).first(unknown), to, ids);
    out.written_to(to);
    batch.text += size;
  }
}

TokenId* Encoder::write_unknown(const PretokenBatch& batch, std::span<UnknownWord> words, const TokenId* end,
                                TokenId* out) {
  learn(batch, words);
  const TokenId* from = behind_.data();
  for (const UnknownWord& word : words) {
    out = copy_ids(from, word.behind, out);
    from = word.behind;
    out = word.merged != nullptr && word.merged->tokens <= MergedWord::kMaxIds
              ? std::copy_n(word.merged->ids.data(), word.merged->tokens, out)
              : look_up(word_at(batch, word.number), out);
  }
  return copy_ids(from, end, out);
}

void Encoder::cut_batch(PretokenBatch& batch) noexcept {
  if (part_cutter_.empty()) {
    batch.size = cut_(batch.text, static_cast<std::size_t>(end_ - batch.text), batch.ends.data(), PretokenBatch::kMost);
    const std::uint32_t size = batch.ends[batch.size - 1];
    fetch_ahead(batch.text, size);
    batch.is_part.fill(false);
    if (kernels_.has_parts(batch.text, size)) part_cutter_.take(batch);
  }
  if (!part_cutter_.empty()) part_cutter_.give(batch);
  std::array<std::uint32_t, PretokenBatch::kMost> long_ones;
  const std::size_t n = kernels_.locate(batch, end_, words_.sets(), long_ones.data());
  for (const std::uint32_t i : std::span(long_ones).first(n)) {
    const std::uint64_t hash = hash_bytes(batch.pretoken(i));
    batch.keys[i] = WordKey::of_long(hash).as_part(batch.is_part[i]);
    fetch(hash);
  }
}

void Encoder::grow() {
  grows_ = booked_ == nullptr || booked_->try_reserve(kMoreMemory);
  if (!grows_) return;
  if (booked_ != nullptr) more_ = kMoreMemory;
  grows_ = catching([&] {
             words_.grow();
             phrases_.grow();
           }).ok();
}

void Encoder::learn(const PretokenBatch& batch, std::span<UnknownWord> words) {
  std::size_t unmerged = 0;
  std::array<TokenId, WordCache::kMaxIds> ids_of_others;
  constexpr std::size_t kPlaces = 128;
  std::array<std::uint16_t, kPlaces> last_at{};  // by its place: the number + 1 of a word that will be merged
  for (UnknownWord& unknown : words) {
    const WordInText word = word_at(batch, unknown.number);
    const bool is_short = word.key.is_short();
    std::uint16_t& last = last_at[word.place / 2 % kPlaces];
    if (is_short && last > 0 && batch.keys[words[last - 1].number].is(word.key)) {  // a new word often comes again soon
      unknown.merged = words[last - 1].merged;
      continue;
    }
    if (is_short && (words_.sets().has(word.key, word.place) || has_phrase(word))) continue;
    if (!(is_short && word.key.is_ascii()) && !is_one_part(word.bytes)) continue;
    if (const TokenId whole = find_token(word); whole >= 0) {
      keep(word, &whole, 1);
    } else if (find_shared(word, ids_of_others.data()) == 0) {
      unknown.merged = &merged_[unmerged];
      unmerged_[unmerged++] = word.bytes;
      last = static_cast<std::uint16_t>(&unknown - words.data() + 1);
    }
  }
  merge_words_(model_, std::span(unmerged_).first(unmerged), merged_.data());
  for (const UnknownWord& unknown : words) {
    if (unknown.merged == nullptr || unknown.merged->tokens > MergedWord::kMaxIds) continue;
    const WordInText word = word_at(batch, unknown.number);
    if (word.key.is_short() && words_.sets().has(word.key, word.place)) continue;
    keep_merged(word, unknown.merged->ids.data(), unknown.merged->tokens);
  }
}

TokenId* Encoder::look_up(const WordInText& word, TokenId* out, bool one_part) {
  if (word.key.is_short()) {
    if (const std::size_t known = words_.sets().find(word.key, word.place, out); known != 0) return out + known;
  }
  if (const std::size_t known = find_phrase(word, out); known != 0) return out + known;
  if (const TokenId whole = find_token(word); whole >= 0) {
    *out = whole;
    keep(word, out, 1);
    return out + 1;
  }
  if (const std::size_t known = find_shared(word, out); known != 0) return out + known;
  TokenId* end = out;
  const bool in_parts = !one_part && merge_parts(word.bytes, end);
  if (!in_parts) end += merger_.merge(word.bytes, out);
  const auto tokens = static_cast<std::size_t>(end - out);
  const bool few = word.key.is_short() && tokens <= WordCache::kMaxIds;
  if (few || !in_parts || is_of_alphabet(word.bytes)) keep_merged(word, out, tokens);
  return end;
}

bool Encoder::is_one_part(std::string_view bytes) const noexcept {
  return bytes.size() <= kMaxWord && !find_part_end(model_.boundaries, bytes, end_, [](std::size_t) { return true; });
}

bool Encoder::merge_parts(std::string_view bytes, TokenId*& out) {
  if (is_ascii(bytes)) return false;
  std::size_t count = 0;
  std::size_t begin = 0;  // of the part
  const auto add = [&](std::size_t end) {
    if (count == kParts) {
      for (const WordInText& part : parts_) out = look_up(part, out, true);
      count = 0;
    }
    parts_[count++] = part_of(bytes.substr(begin, end - begin));
    begin = end;
    return false;
  };
  find_part_end(model_.boundaries, bytes, end_, add);
  if (begin == 0) return false;
  add(bytes.size());
  for (std::size_t i = 0; i < count; ++i) out = look_up(parts_[i], out, true);
  return true;
}

Encoder::WordInText Encoder::part_of(std::string_view bytes) const noexcept {
  if (bytes.size() > WordKey::kMaxSize) {
    const std::uint64_t hash = hash_bytes(bytes);
    phrases_.fetch(hash);
    return {bytes, WordKey::of_long(hash).as_part(), 0};
  }
  const auto* const p = reinterpret_cast<const std::uint8_t*>(bytes.data());
  const WordKey key = WordKey::of(p, bytes.size(), end_).as_part();
  return {bytes, key, words_.sets().place_of(key)};
}

}  // namespace drapps::text
