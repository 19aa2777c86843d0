#include "drapps/trace/words.h"

#include "drapps/base/histogram.h"

namespace drapps::trace {
namespace {

// The last bucket that a number can fall into.
constexpr std::uint64_t kLastBucket = Histogram::bucket_of(~std::uint64_t{0});

Coding coding_of(std::span<const Coding> codings, std::size_t place) noexcept {
  return codings.empty() ? Coding::kDifference : codings[place];
}

}  // namespace

void put_words(Bytes& out, std::span<const std::uint64_t> now, std::span<std::uint64_t> before,
               std::span<const Coding> codings) {
  for (std::size_t at = 0; at < now.size();) {
    std::size_t same = at;
    while (same < now.size() && now[same] == before[same]) ++same;
    if (same > at) {
      put_number(out, 0);
      put_number(out, same - at - 1);
      at = same;
      continue;
    }
    if (coding_of(codings, at) == Coding::kDifference) {
      put_difference(out, now[at], before[at]);
    } else if (const std::size_t bucket = Histogram::bucket_of(now[at]); Histogram::upper_edge(bucket) == now[at]) {
      put_number(out, bucket + 2);
    } else {
      put_number(out, 1);
      put_number(out, now[at]);
    }
    before[at] = now[at];
    ++at;
  }
}

void take_words(ByteCursor& in, std::span<std::uint64_t> words, std::span<const Coding> codings) {
  for (std::size_t at = 0; at < words.size() && in.ok();) {
    const std::uint64_t token = in.number();
    if (token == 0) {
      at += static_cast<std::size_t>(in.number_to(words.size() - at - 1)) + 1;
    } else if (coding_of(codings, at) == Coding::kDifference) {
      words[at++] += un_zig_zag(token);
    } else if (token == 1) {
      words[at++] = in.number();
    } else if (token - 2 <= kLastBucket) {
      words[at++] = Histogram::upper_edge(static_cast<std::size_t>(token - 2));
    } else {
      in.fail();
    }
  }
}

}  // namespace drapps::trace
