#include "drapps/text/tokenizer.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <thread>
#include <utility>

#include "drapps/base/caught.h"
#include "drapps/exec/shared_work.h"
#include "drapps/text/pretokenize/scan.h"
#include "drapps/text/refusal.h"
#include "drapps/text/unicode/utf8_repair.h"

namespace drapps::text {
namespace {

/// About, or less in most languages: memory for ids seldom has to grow, which copies them.
constexpr std::size_t kBytesOfToken = 4;
/// Encoders that wait for the next call, each with some MiB.
constexpr std::size_t kWaiting = 64;

/// Locked, unless its owner is gone: others hold it for less than these tries take, and an encoder that is not given
/// back has to learn all its words again.
std::unique_lock<std::mutex> lock_soon(std::mutex& mutex) {
  constexpr int kTries = 100;
  std::unique_lock lock(mutex, std::try_to_lock);
  for (int i = 1; i < kTries && !lock.owns_lock(); ++i) {
    std::this_thread::yield();
    static_cast<void>(lock.try_lock());
  }
  return lock;
}

/// Begin of the white space that ends `text`.
std::size_t spaces_at_end(std::string_view text) noexcept {
  const std::uint8_t* const table = class_table();
  std::size_t begin = text.size();
  while (begin > 0) {
    std::size_t at = begin - 1;
    while (at > 0 && (static_cast<std::uint8_t>(text[at]) & 0xC0) == 0x80) --at;
    if (char_at(table, reinterpret_cast<const std::uint8_t*>(text.data()) + at).major() != kSpace) break;
    begin = at;
  }
  return begin;
}

std::size_t spaces_at_start(std::string_view text) noexcept {
  const auto* const p = reinterpret_cast<const std::uint8_t*>(text.data());
  return static_cast<std::size_t>(skip_major(class_table(), p, p + text.size(), kSpace) - p);
}

std::size_t bytes_of(const std::vector<std::string_view>& texts) noexcept {
  std::size_t total = 0;
  for (const std::string_view text : texts) total += text.size() + 1;
  return total;
}

/// Threads that are asked for, or that these texts are worth, of those that there are.
std::size_t threads_for(const std::vector<std::string_view>& texts, std::size_t asked, std::size_t most) {
  constexpr std::size_t kWorthAThread = std::size_t{128} << 10;
  const std::size_t wanted = asked != 0 ? std::min(asked, texts.size()) : 1 + bytes_of(texts) / kWorthAThread;
  return std::clamp<std::size_t>(wanted, 1, std::max<std::size_t>(most, 1));
}

/// Neighbouring texts for each thread, of about as many bytes: where each share begins, and the end.
std::vector<std::size_t> shares(const std::vector<std::string_view>& texts, std::size_t threads) {
  const std::size_t total = bytes_of(texts);
  std::vector<std::size_t> begins{0};
  std::size_t seen = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (begins.size() < threads && seen * threads >= total * begins.size() && i > begins.back()) begins.push_back(i);
    seen += texts[i].size() + 1;
  }
  begins.push_back(texts.size());
  return begins;
}

void append(const std::vector<TokenId>& ids, IdBuffer& out) {
  out.written_to(std::copy(ids.begin(), ids.end(), out.reserve(ids.size())));
}

template <class T>
void append(std::vector<T> more, std::vector<T>& out) {
  out.empty() ? out.swap(more) : (void)out.insert(out.end(), more.begin(), more.end());
}

/// Appends what another thread has made of the next texts.
void join(Tokenizer::Encoded& all, Tokenizer::Encoded part) {
  const auto before = static_cast<std::int64_t>(all.ids.size());
  if (before == 0) {
    all.ids = std::move(part.ids);
  } else {
    const std::size_t size = part.ids.size();
    all.ids.written_to(std::copy_n(part.ids.data(), size, all.ids.reserve(size)));
  }
  for (const std::int64_t end : part.offsets) all.offsets.push_back(before + end);
  append(std::move(part.places.begins), all.places.begins);
  append(std::move(part.places.ends), all.places.ends);
  append(std::move(part.places.leading), all.places.leading);
  append(std::move(part.places.trailing), all.places.trailing);
}

}  // namespace

Tokenizer::Tokenizer(TokenizerParts parts) : parts_(std::move(parts)), cut_(cut_of(parts_.pattern)) {
  special_.resize(parts_.decoded.size());
  bool behind = false;
  for (const Piece& piece : parts_.single) {
    auto& ids = behind ? suffix_ : prefix_;
    ids.insert(ids.end(), piece.ids.begin(), piece.ids.end());
    behind = behind || piece.of == Piece::Of::kFirst;
  }
  std::vector<std::string> normal(parts_.added.size());
  std::vector<std::string_view> strings[2];
  for (std::uint32_t i = 0; i < parts_.added.size(); ++i) {
    const AddedToken& token = parts_.added[i];
    if (token.special) special_[static_cast<std::size_t>(token.id)] = true;
    (token.normalized ? normalized_ : plain_).push_back(i);
    normal[i] = token.content;
    for (const Form form : parts_.forms) {
      std::string next;
      if (token.normalized && normalize(form, normal[i], next)) normal[i] = std::move(next);
    }
    strings[token.normalized].push_back(normal[i]);
  }
  plain_splitter_ = Splitter(strings[0]);
  normalized_splitter_ = Splitter(strings[1]);
}

Tokenizer::Encoders Tokenizer::take_encoders(std::size_t threads, MemoryLedger* memory) const {
  Encoders taken;
  taken.reserve(threads);
  if (const auto lock = lock_soon(mutex_); lock.owns_lock()) {
    // The one that this thread had last: its core's cache still has what it remembers.
    const auto own = std::ranges::find(encoders_, std::this_thread::get_id(), &IdleEncoder::of);
    if (own != encoders_.end()) std::iter_swap(own, encoders_.end() - 1);
    for (; taken.size() < threads && !encoders_.empty(); encoders_.pop_back()) {
      taken.push_back(std::move(encoders_.back().encoder));
    }
  }
  while (taken.size() < threads) {
    const bool booked = memory != nullptr && memory->try_reserve(Encoder::kMemory);
    if (memory != nullptr && !booked && !taken.empty()) break;
    taken.push_back(
        std::make_unique<Encoder>(parts_.model, cut_, booked ? memory : nullptr, booked == (memory != nullptr)));
  }
  return taken;
}

void Tokenizer::give_back(Encoders encoders) const noexcept {
  const auto lock = lock_soon(mutex_);
  if (!lock.owns_lock()) return;
  (void)catching([&] {
    for (auto& encoder : encoders) {
      if (encoders_.size() < kWaiting) encoders_.push_back({std::move(encoder), std::this_thread::get_id()});
    }
  });
}

/// What the functions below hand on while a text becomes ids.
struct Tokenizer::TokenizerWork {
  Encoder& encoder;
  const Options options;
  IdBuffer& out;
  std::size_t first = 0;  // of the ids of this text
  std::vector<Mark> marks{};
  std::string normal{};  // the piece that is worked on, where it was changed
  bool changed = false;
  bool too_long = false;
};

template <class Rest>
void Tokenizer::split(const Splitter& splitter, const std::vector<std::uint32_t>& tokens, TokenizerWork& work,
                      std::string_view text, const Rest& rest) const {
  std::size_t done = 0;  // text up to here has its ids
  std::size_t from = 0;
  while (const auto found = splitter.find(text, from, work.options.added)) {
    const AddedToken& token = parts_.added[tokens[found->string]];
    std::size_t begin = found->begin;
    std::size_t end = found->end;
    from = end;
    if (token.lstrip && begin > done) begin = done + spaces_at_end(text.substr(done, begin - done));
    if (token.rstrip) end += spaces_at_start(text.substr(end));
    if (begin > done) rest(text.substr(done, begin - done));
    if (work.options.places) work.marks.push_back({work.out.size() - work.first, text.substr(begin, end - begin)});
    work.out.push_back(token.id);
    done = end;
  }
  if (done < text.size()) rest(text.substr(done));
}

std::string_view Tokenizer::normalised(TokenizerWork& work, std::string_view text) const {
  for (const Form form : parts_.forms) {
    std::string next;
    if (!normalize(form, text, next)) continue;
    work.normal = std::move(next);
    work.changed = true;
    text = work.normal;
    work.too_long = work.too_long || text.size() > kMaxText;
    if (work.too_long) return {};
  }
  return text;
}

void Tokenizer::encode_rest(TokenizerWork& work, std::string_view text) const {
  text = normalised(work, text);
  const auto bare = [&](std::string_view piece) { work.encoder.encode(piece, work.out); };
  if (normalized_splitter_.empty()) return bare(text);
  split(normalized_splitter_, normalized_, work, text, bare);
}

void Tokenizer::encode_text(TokenizerWork& work, std::string_view text) const {
  const bool none = parts_.added_on_request && work.options.added == nullptr;
  if (none) {
    work.encoder.encode(text, work.out);
  } else if (plain_splitter_.empty()) {
    encode_rest(work, text);
  } else {
    split(plain_splitter_, plain_, work, text, [&](std::string_view piece) { encode_rest(work, piece); });
  }
}

/// Neighbouring texts.
struct Tokenizer::Share {
  const std::vector<std::string_view>& texts;
  std::size_t begin;
  std::size_t end;
};

Status Tokenizer::encode_share(Encoder& encoder, const Share& share, Options options, Encoded& out) const {
  TokenizerWork work{.encoder = encoder, .options = options, .out = out.ids};
  std::string repaired;
  std::size_t bytes = 0;
  for (std::size_t i = share.begin; i < share.end; ++i) bytes += share.texts[i].size();
  out.ids.reserve(bytes / kBytesOfToken);
  out.offsets.reserve(out.offsets.size() + share.end - share.begin);
  for (std::size_t i = share.begin; i < share.end; ++i) {
    std::string_view text = share.texts[i];
    if (options.repair && repair_utf8(text, repaired)) text = repaired;
    work.too_long = text.size() > kMaxText;
    if (options.specials) append(prefix_, out.ids);
    work.first = out.ids.size();
    work.marks.clear();
    if (!work.too_long) encode_text(work, text);
    if (work.too_long) {
      return Error{.code = ErrorCode::kTooLarge,
                   .message = "text " + std::to_string(i) + " has more than " + std::to_string(kMaxText) +
                              " bytes, as it stands or once it is normalised; cut it into documents"};
    }
    const std::span<const TokenId> ids(out.ids.data() + work.first, out.ids.size() - work.first);
    if (options.places && (work.changed || !append_places(text, ids, work.marks, parts_.decoded,
                                                          parts_.trim != Trim::kNone, out.places))) {
      return refused("the places of tokens in a text that is changed before it is cut");
    }
    if (options.specials) append(suffix_, out.ids);
    out.offsets.push_back(static_cast<std::int64_t>(out.ids.size()));
  }
  return ok_status();
}

Result<std::vector<Tokenizer::Encoded>> Tokenizer::encode_shares(Encoders& encoders,
                                                                 const std::vector<std::string_view>& texts,
                                                                 Options options, WorkerGroup& workers) const {
  const std::vector<std::size_t> begins = shares(texts, encoders.size());
  std::vector<Encoded> parts(begins.size() - 1);
  std::vector<Status> statuses(parts.size(), ok_status());
  std::mutex mutex;  // guards encoders
  share_work(workers, parts.size(), parts.size() - 1, [&](std::size_t part) {
    std::unique_ptr<Encoder> encoder;
    {
      const std::scoped_lock lock(mutex);
      encoder = std::move(encoders.back());
      encoders.pop_back();
    }
    const Share share{texts, begins[part], begins[part + 1]};
    statuses[part] = catching([&] { return encode_share(*encoder, share, options, parts[part]); });
    const std::scoped_lock lock(mutex);
    encoders.push_back(std::move(encoder));  // has room: it came from there
  });
  for (Status& status : statuses) DRAPPS_RETURN_IF_ERROR(std::move(status));
  return parts;
}

Result<Tokenizer::Encoded> Tokenizer::encode(const std::vector<std::string_view>& texts, unsigned threads,
                                             Options options, const CallResources& resources) const {
  return catching([&]() -> Result<Encoded> {
    const std::size_t most = resources.workers != nullptr ? resources.threads : 1;
    auto encoders = take_encoders(threads_for(texts, threads, most), resources.memory);
    Encoded all;
    all.offsets.reserve(texts.size() + 1);
    all.offsets.push_back(0);
    if (encoders.size() == 1) {
      DRAPPS_RETURN_IF_ERROR(encode_share(*encoders[0], {texts, 0, texts.size()}, options, all));
    } else {
      auto parts = encode_shares(encoders, texts, options, *resources.workers);
      if (!parts.ok()) return std::move(parts).error();
      for (Encoded& part : *parts) join(all, std::move(part));
    }
    give_back(std::move(encoders));
    return all;
  });
}

Result<std::string> Tokenizer::decode(const std::vector<std::int64_t>& ids, bool skip_special, bool lenient) const {
  std::string bytes;
  for (const std::int64_t id : ids) {
    const bool known = id >= 0 && id < static_cast<std::int64_t>(parts_.decoded.size()) &&
                       !parts_.decoded[static_cast<std::size_t>(id)].empty();
    if (!known && !lenient) return invalid("no token has the id " + std::to_string(id));
    if (!known || (skip_special && special_[static_cast<std::size_t>(id)])) continue;
    bytes += parts_.decoded[static_cast<std::size_t>(id)];
  }
  return bytes;
}

}  // namespace drapps::text
