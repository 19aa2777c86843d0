#include "drapps/text/bpe/encoder.h"

#include <algorithm>
#include <array>

#include "drapps/text/unicode/utf8.h"

namespace drapps::text {
namespace {

/// Pretokens that are cut, and whose places in the cache are fetched, before they are looked up: what is fetched for
/// them stays in the first-level cache.
constexpr std::size_t kBatch = 192;
/// What the caches write beyond the ids.
constexpr std::size_t kSlack = 4;

}  // namespace

void Encoder::encode(std::string_view text, IdBuffer& out) {
  std::array<std::uint32_t, kBatch> ends;
  std::array<WordKey, kBatch> keys;
  std::array<std::uint32_t, kBatch> places;
  const auto* batch = reinterpret_cast<const std::uint8_t*>(text.data());
  const std::uint8_t* const end = batch + text.size();
  end_ = end;
  while (batch < end) {
    const std::size_t n = cut_(batch, static_cast<std::size_t>(end - batch), ends.data(), kBatch);
    std::uint32_t begin = 0;
    for (std::size_t i = 0; i < n; ++i) {
      keys[i] = WordKey::of(batch + begin, ends[i] - begin, end);
      places[i] = words_.place_of(keys[i]);
      begin = ends[i];
    }
    TokenId* ids = out.reserve(begin + kSlack);
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t known = words_.find(keys[i], places[i], ids);
      ids += known;
      if (known != 0) [[likely]]
        continue;
      begin = i > 0 ? ends[i - 1] : 0;
      TokenId* const before = ids;
      ids = look_up({reinterpret_cast<const char*>(batch) + begin, ends[i] - begin}, ids);
      const auto tokens = static_cast<std::size_t>(ids - before);
      if (ends[i] - begin <= WordKey::kMaxSize && tokens - 1 < WordCache::kMaxIds) {
        words_.insert(keys[i], places[i], before, tokens);
      }
    }
    out.written_to(ids);
    batch += ends[n - 1];
  }
}

TokenId* Encoder::look_up(std::string_view pretoken, TokenId* out) {
  const std::uint64_t hash = hash_bytes(pretoken);
  if (const std::size_t known = phrases_.find(pretoken, hash, false, out); known != 0) return out + known;
  if (const TokenId whole = model_.whole.find(pretoken, hash); whole >= 0) {
    *out = whole;
    return out + 1;
  }
  if (merge_parts(pretoken, out)) return out;
  const std::size_t tokens = merger_.merge(pretoken, out);
  phrases_.insert(pretoken, hash, false, out, tokens);
  return out + tokens;
}

bool Encoder::merge_parts(std::string_view pretoken, TokenId*& out) {
  const auto is_ascii = [](char byte) { return static_cast<std::uint8_t>(byte) < 0x80; };
  if (std::all_of(pretoken.begin(), pretoken.end(), is_ascii)) return false;
  const auto* const p = reinterpret_cast<const std::uint8_t*>(pretoken.data());
  std::size_t begin = 0;  // of the part
  std::size_t at = 0;     // a character
  std::size_t size = decode_utf8(p).size;
  while (at + size < pretoken.size()) {
    const std::size_t next = at + size;
    const std::size_t next_size = decode_utf8(p + next).size;
    if (!model_.boundaries.crossed(pretoken.substr(at, size), pretoken.substr(next, next_size))) {
      out = merge_part(pretoken.substr(begin, next - begin), out);
      begin = next;
    }
    at = next;
    size = next_size;
  }
  if (begin == 0) return false;
  out = merge_part(pretoken.substr(begin), out);
  return true;
}

TokenId* Encoder::merge_part(std::string_view part, TokenId* out) {
  if (part.size() > WordKey::kMaxSize) {
    const std::uint64_t hash = hash_bytes(part);
    if (const std::size_t known = phrases_.find(part, hash, true, out); known != 0) return out + known;
    const std::size_t tokens = merger_.merge(part, out);
    phrases_.insert(part, hash, true, out, tokens);
    return out + tokens;
  }
  const WordKey key = WordKey::of(reinterpret_cast<const std::uint8_t*>(part.data()), part.size(), end_).as_part();
  const std::uint32_t place = words_.place_of(key);
  if (const std::size_t known = words_.find(key, place, out); known != 0) return out + known;
  std::size_t tokens = 0;
  if (const TokenId whole = model_.whole_by_merges ? model_.whole.find(part) : -1; whole >= 0) {
    *out = whole;
    tokens = 1;
  } else {
    tokens = merger_.merge(part, out);
  }
  if (tokens - 1 < WordCache::kMaxIds) words_.insert(key, place, out, tokens);
  return out + tokens;
}

}  // namespace drapps::text
