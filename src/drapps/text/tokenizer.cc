#include "drapps/text/tokenizer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "drapps/base/caught.h"
#include "drapps/base/machine.h"
#include "drapps/exec/service_thread.h"
#include "drapps/text/pretokenize/scan.h"

namespace drapps::text {
namespace {

/// Encoders that wait for the next call, each with some MiB.
constexpr std::size_t kWaiting = 64;

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

/// Threads that these texts are worth.
std::size_t threads_for(const std::vector<std::string_view>& texts) {
  constexpr std::size_t kWorthAThread = std::size_t{128} << 10;
  const std::size_t worth = 1 + bytes_of(texts) / kWorthAThread;
  if (worth == 1) return 1;
  return std::min(worth, static_cast<std::size_t>(std::max(machine_limits().cpus, 1.0)));
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

}  // namespace

Tokenizer::Tokenizer(TokenizerParts parts) : parts_(std::move(parts)), cut_(cut_of(parts_.pattern)) {
  special_.resize(parts_.decoded.size());
  std::vector<std::string_view> strings[2];
  for (std::uint32_t i = 0; i < parts_.added.size(); ++i) {
    const AddedToken& token = parts_.added[i];
    if (token.special) special_[static_cast<std::size_t>(token.id)] = true;
    (token.normalized ? normalized_ : plain_).push_back(i);
    strings[token.normalized].push_back(token.content);
  }
  plain_splitter_ = Splitter(strings[0]);
  normalized_splitter_ = Splitter(strings[1]);
}

std::unique_ptr<Encoder> Tokenizer::take_encoder() const {
  if (const std::unique_lock lock(mutex_, std::try_to_lock); lock.owns_lock() && !encoders_.empty()) {
    auto encoder = std::move(encoders_.back());
    encoders_.pop_back();
    return encoder;
  }
  return std::make_unique<Encoder>(parts_.model, cut_);
}

void Tokenizer::give_back(std::unique_ptr<Encoder> encoder) const noexcept {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || encoders_.size() >= kWaiting) return;
  (void)catching([&] { encoders_.push_back(std::move(encoder)); });
}

template <class Rest>
void Tokenizer::split(const Splitter& splitter, const std::vector<std::uint32_t>& tokens, std::string_view text,
                      const std::vector<bool>* wanted, IdBuffer& out, const Rest& rest) const {
  std::size_t done = 0;  // text up to here has its ids
  std::size_t from = 0;
  while (const auto found = splitter.find(text, from, wanted)) {
    const AddedToken& token = parts_.added[tokens[found->string]];
    std::size_t begin = found->begin;
    std::size_t end = found->end;
    from = end;
    if (token.lstrip) begin = std::max(done, spaces_at_end(text.substr(0, begin)));
    if (token.rstrip) end += spaces_at_start(text.substr(end));
    if (begin > done) rest(text.substr(done, begin - done));
    out.push_back(token.id);
    done = end;
  }
  if (done < text.size()) rest(text.substr(done));
}

void Tokenizer::encode_rest(Encoder& encoder, std::string_view text, Options options, IdBuffer& out) const {
  const auto bare = [&](std::string_view piece) { encoder.encode(piece, out); };
  if (normalized_splitter_.empty()) return bare(text);
  split(normalized_splitter_, normalized_, text, options.added, out, bare);
}

void Tokenizer::encode_text(Encoder& encoder, std::string_view text, Options options, IdBuffer& out) const {
  if (options.specials) append(parts_.prefix, out);
  const bool none = parts_.added_on_request && options.added == nullptr;
  if (none) {
    encoder.encode(text, out);
  } else if (plain_splitter_.empty()) {
    encode_rest(encoder, text, options, out);
  } else {
    split(plain_splitter_, plain_, text, options.added, out,
          [&](std::string_view piece) { encode_rest(encoder, piece, options, out); });
  }
  if (options.specials) append(parts_.suffix, out);
}

Result<Tokenizer::Encoded> Tokenizer::encode(const std::vector<std::string_view>& texts, unsigned threads,
                                             Options options) const {
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (texts[i].size() <= kMaxText) continue;
    return Error{.code = ErrorCode::kTooLarge,
                 .message = "text " + std::to_string(i) + " has " + std::to_string(texts[i].size()) +
                            " bytes, and the most are " + std::to_string(kMaxText) + "; cut it into documents"};
  }
  return catching([&]() -> Result<Encoded> {
    const std::vector<std::size_t> begins = shares(texts, threads != 0 ? threads : threads_for(texts));
    const std::size_t parts = begins.size() - 1;
    Encoded all;
    all.offsets.resize(texts.size() + 1);
    std::vector<IdBuffer> buffers(parts);
    std::vector<Status> statuses(parts, ok_status());
    const auto work = [&](std::size_t part) {
      statuses[part] = catching([&] {
        auto encoder = take_encoder();
        for (std::size_t i = begins[part]; i < begins[part + 1]; ++i) {
          encode_text(*encoder, texts[i], options, buffers[part]);
          all.offsets[i + 1] = static_cast<std::int64_t>(buffers[part].size());
        }
        give_back(std::move(encoder));
      });
    };
    {
      std::vector<ServiceThread> others;
      others.reserve(parts);
      for (std::size_t part = 1; part < parts; ++part) {
        auto started = ServiceThread::start("drapps-text", [&work, part](const std::stop_token&) { work(part); });
        if (started.ok()) {
          others.push_back(std::move(started).value());
        } else {
          work(part);
        }
      }
      work(0);
    }
    for (Status& status : statuses) DRAPPS_RETURN_IF_ERROR(std::move(status));
    all.ids = std::move(buffers[0]);
    for (std::size_t part = 1; part < parts; ++part) {
      const IdBuffer& ids = buffers[part];
      const auto before = static_cast<std::int64_t>(all.ids.size());
      all.ids.written_to(std::copy_n(ids.data(), ids.size(), all.ids.reserve(ids.size())));
      for (std::size_t i = begins[part]; i < begins[part + 1]; ++i) all.offsets[i + 1] += before;
      buffers[part] = IdBuffer();
    }
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
