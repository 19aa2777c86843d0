#include "drapps/text/shares.h"

#include <algorithm>
#include <span>
#include <utility>

namespace drapps::text {
namespace {

constexpr std::size_t kShare = std::size_t{256} << 10;  // bytes of text: its ids fit into a core's second-level cache
constexpr std::size_t kWorthAThread = std::size_t{128} << 10;

std::size_t text_bytes(const std::vector<std::string_view>& texts) noexcept {
  std::size_t total = 0;
  for (const std::string_view text : texts) total += text.size() + 1;
  return total;
}

template <class T>
void append_to(std::vector<T>& out, std::vector<T>& more) {
  out.insert(out.end(), more.begin(), more.end());
  more.clear();
}

void join(Tokenizer::Encoded& all, Tokenizer::Encoded& output) {
  const std::size_t size = output.ids.size();
  const auto before = static_cast<std::int64_t>(all.ids.size());
  all.ids.written_to(std::copy_n(output.ids.data(), size, all.ids.reserve(size)));
  output.ids.written_to(output.ids.data());
  for (const std::int64_t end : output.offsets) all.offsets.push_back(before + end);
  output.offsets.clear();
  append_to(all.places.begins, output.places.begins);
  append_to(all.places.ends, output.places.ends);
  append_to(all.places.leading, output.places.leading);
  append_to(all.places.trailing, output.places.trailing);
}

}  // namespace

std::size_t threads_for(const std::vector<std::string_view>& texts, std::size_t asked, std::size_t most) {
  const std::size_t wanted = asked != 0 ? std::min(asked, texts.size()) : 1 + text_bytes(texts) / kWorthAThread;
  return std::clamp<std::size_t>(wanted, 1, std::max<std::size_t>(most, 1));
}

std::vector<std::size_t> shares_of(const std::vector<std::string_view>& texts, std::size_t threads) {
  const std::size_t total = text_bytes(texts);
  const std::size_t shares = std::max(threads, total / kShare);
  std::vector<std::size_t> begins{0};
  std::size_t seen = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (begins.size() < shares && seen * shares >= total * begins.size() && i > begins.back()) begins.push_back(i);
    seen += texts[i].size() + 1;
  }
  begins.push_back(texts.size());
  return begins;
}

JoinedShares::JoinedShares(const std::vector<std::string_view>& texts, std::size_t shares) : waiting_(shares) {
  all_.ids.expect(text_bytes(texts) / kBytesOfToken);
  all_.offsets.reserve(texts.size() + 1);
  all_.offsets.push_back(0);
}

void JoinedShares::add(std::size_t share, Tokenizer::Encoded& output) {
  std::unique_lock lock(mutex_);
  const std::span<const TokenId> pages = all_.ids.claim_pages(output.ids.size());
  lock.unlock();
  populate_pages(pages);  // which takes longer than to join, and all threads have part in
  lock.lock();
  if (share != next_) {
    waiting_[share] = std::exchange(output, {});
    return;
  }
  join(all_, output);
  for (++next_; next_ < waiting_.size() && waiting_[next_]; ++next_) {
    join(all_, *waiting_[next_]);
    waiting_[next_].reset();
  }
}

}  // namespace drapps::text
