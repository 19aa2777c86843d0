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
#include "drapps/text/shares.h"
#include "drapps/text/unicode/utf8_repair.h"

namespace drapps::text {
namespace {

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

void append(const std::vector<TokenId>& ids, IdBuffer& out) {
  out.written_to(std::copy(ids.begin(), ids.end(), out.reserve(ids.size())));
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
  std::shared_ptr<SharedWords> shared;
  if (const auto lock = lock_soon(mutex_); lock.owns_lock()) {
    // The one that this thread had last: its core's cache still has what it remembers.
    const auto own = std::ranges::find(encoders_, std::this_thread::get_id(), &IdleEncoder::of);
    if (own != encoders_.end()) std::iter_swap(own, encoders_.end() - 1);
    for (; taken.size() < threads && !encoders_.empty(); encoders_.pop_back()) {
      taken.push_back(std::move(encoders_.back().encoder));
    }
    if (taken.size() < threads) shared = shared_words(memory);
  }
  while (taken.size() < threads) {
    const bool booked = memory != nullptr && memory->try_reserve(Encoder::kMemory);
    if (memory != nullptr && !booked && !taken.empty()) break;
    taken.push_back(std::make_unique<Encoder>(parts_.model, cut_, booked ? memory : nullptr,
                                              booked == (memory != nullptr), shared));
  }
  return taken;
}

const std::shared_ptr<SharedWords>& Tokenizer::shared_words(MemoryLedger* memory) const {
  if (shared_ == nullptr || shared_->booked() != memory) shared_ = std::make_shared<SharedWords>(memory);
  return shared_;
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
  while (const auto match = splitter.find(text, from, work.options.added)) {
    const AddedToken& token = parts_.added[tokens[match->string]];
    std::size_t begin = match->begin;
    std::size_t end = match->end;
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
  out.ids.expect(bytes / kBytesOfToken);
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

Result<Tokenizer::Encoded> Tokenizer::encode_shares(Encoders& encoders, const std::vector<std::string_view>& texts,
                                                    Options options, WorkerGroup& workers) const {
  /// What a thread works with from one share to the next.
  struct ShareWorker {
    std::unique_ptr<Encoder> encoder;
    Encoded output;
    std::thread::id of;
  };
  std::vector<ShareWorker> idle;
  for (auto& encoder : encoders) idle.push_back({.encoder = std::move(encoder)});
  const std::vector<std::size_t> begins = shares_of(texts, encoders.size());
  const std::size_t shares = begins.size() - 1;
  std::vector<Status> statuses(shares, ok_status());
  JoinedShares joined(texts, shares);
  std::mutex mutex;  // guards idle
  share_work(workers, shares, std::min(shares, idle.size()) - 1, [&](std::size_t share) {
    std::unique_lock lock(mutex);
    const auto own = std::ranges::find(idle, std::this_thread::get_id(), &ShareWorker::of);
    if (own != idle.end()) std::iter_swap(own, idle.end() - 1);
    ShareWorker mine = std::move(idle.back());
    idle.pop_back();
    lock.unlock();
    mine.of = std::this_thread::get_id();
    const Share of{texts, begins[share], begins[share + 1]};
    statuses[share] = catching([&] {
      Status encoded = encode_share(*mine.encoder, of, options, mine.output);
      if (encoded.ok()) joined.add(share, mine.output);
      return encoded;
    });
    lock.lock();
    idle.push_back(std::move(mine));  // has room: it came from there
  });
  for (std::size_t i = 0; i < idle.size(); ++i) encoders[i] = std::move(idle[i].encoder);
  for (Status& status : statuses) DRAPPS_RETURN_IF_ERROR(std::move(status));
  return std::move(joined).take();
}

Result<Tokenizer::Encoded> Tokenizer::encode(const std::vector<std::string_view>& texts, unsigned threads,
                                             Options options, const CallResources& resources) const {
  return catching([&]() -> Result<Encoded> {
    const std::size_t most = resources.workers != nullptr ? resources.threads : 1;
    auto encoders = take_encoders(threads_for(texts, threads, most), resources.memory);
    Result<Encoded> all = Encoded{.offsets = {0}};
    if (encoders.size() == 1) {
      DRAPPS_RETURN_IF_ERROR(encode_share(*encoders[0], {texts, 0, texts.size()}, options, *all));
    } else {
      all = encode_shares(encoders, texts, options, *resources.workers);
    }
    if (all.ok()) give_back(std::move(encoders));
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
