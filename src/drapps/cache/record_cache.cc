#include "drapps/cache/record_cache.h"

#include <algorithm>
#include <utility>

#include "drapps/storage/shard.h"

namespace drapps::cache {
namespace {

std::uint64_t next_number() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

// Where so many entries in a row found no room the next will hardly: each pass would make them again, for nothing.
constexpr std::uint32_t kMostRefused = 8;

/// How many parts of records there may come to be: of records that are as large as the first one no more than there is
/// room for.
std::uint64_t most_entries(const Source& source, std::size_t budget) noexcept {
  const std::uint64_t parts = source.size() * source.parts().size();
  const std::uint64_t bytes = source.hint(0).bytes;
  return bytes == 0 ? parts : std::min<std::uint64_t>(parts, budget / bytes);
}

/// Whether a part can be kept as it is: what is in memory already cannot be had for less.
bool fetched(const Location& at) noexcept { return at.path != nullptr; }

}  // namespace

RecordCache::RecordCache(Tier& tier, std::shared_ptr<const Source> source, const RecordCacheOptions& options,
                         const std::vector<std::optional<std::string>>& made_with)
    : tier_(tier),
      source_(std::move(source)),
      options_(options),
      number_(next_number()),
      forms_(source_->parts().size()) {
  const FormId wanted = options.form.value_or(FormId::kBytes);
  for (std::size_t part = 0; part < std::min(forms_.size(), made_with.size()); ++part) {
    const std::optional<std::string>& with = made_with[part];
    if (!with) continue;
    forms_[part] = {wanted, identity_of(std::string(name_of(wanted)) + " " + *with)};
  }
  member_ = tier_.join(options.form ? most_entries(*source_, options.budget) : 0, options.budget);
}

RecordCache::~RecordCache() { tier_.leave(member_); }

/// The identity of a part as the bytes of its file.
RecordIdentity RecordCache::plain(std::uint64_t index, RecordPart part, const Location& at) const noexcept {
  if (fetched(at)) return source_->identity(index, part);
  return {mixed(number_ ^ mixed(index)), mixed(index ^ mixed(number_ + part))};
}

/// The identity of a part in another form, made of that of the part as bytes.
RecordIdentity RecordCache::in_form(const RecordIdentity& plain, RecordPart part, FormId form) const noexcept {
  if (form == FormId::kBytes) return plain;
  const RecordIdentity& made_with = forms_[part].made_with;
  return {plain.high ^ made_with.high, plain.low ^ made_with.low};
}

bool RecordCache::knows(std::uint64_t record) noexcept {
  if (!options_.form || tier_.empty()) return false;
  bool any = false;
  for (std::size_t i = 0; i < forms_.size(); ++i) {
    const auto part = static_cast<RecordPart>(i);
    const Location at = source_->locate(record, part);
    const RecordIdentity as_bytes = plain(record, part, at);
    const bool kept = tier_.has(in_form(as_bytes, part, form(part))) ||
                      (form(part) != FormId::kBytes && fetched(at) && tier_.has(as_bytes));
    if (!kept && fetched(at)) return false;
    any |= kept;
  }
  return any;
}

std::array<double, kForms> RecordCache::shares() noexcept {
  constexpr std::uint64_t kMost = 4096;
  std::array<double, kForms> shares{};
  const std::uint64_t looked_at = options_.form ? std::min(source_->size(), kMost) : 0;
  for (std::uint64_t i = 0; i < looked_at; ++i) {
    const std::uint64_t index = i * source_->size() / looked_at;
    const RecordIdentity as_bytes = plain(index, kFirstPart, source_->locate(index, kFirstPart));
    for (const FormId tried : {form(kFirstPart), FormId::kBytes}) {
      if (!tier_.has(in_form(as_bytes, kFirstPart, tried))) continue;
      shares[static_cast<std::size_t>(tried)] += 1 / static_cast<double>(looked_at);
      break;
    }
  }
  return shares;
}

/// The part in its form or as bytes, with the identity that its file has now.
View RecordCache::find_part(const KeepRequest& request, RecordPart part) noexcept {
  const Location& at = request.read.at[part];
  const FormId wanted = form(part);
  if (!fetched(at) && wanted == FormId::kBytes) return {};
  const RecordIdentity as_bytes = plain(request.record, part, at);
  const RecordIdentity as_form = in_form(as_bytes, part, wanted);
  if (!fetched(at)) return tier_.get({as_form, 0, member_.number});
  if (!tier_.has(as_form) && (wanted == FormId::kBytes || !tier_.has(as_bytes))) return {};
  struct stat status{};
  if (::stat(at.path, &status) != 0) return {};
  const std::uint64_t state = state_of(status);
  request.read.identity[part] =
      at.shard == nullptr ? identity_of(status) : at.shard->record_identity(at.offset, at.length);
  request.read.state[part] = state;
  View view = tier_.get({as_form, state, member_.number});
  return view || wanted == FormId::kBytes ? std::move(view) : tier_.get({as_bytes, state, member_.number});
}

bool RecordCache::find(const KeepRequest& request) noexcept {
  if (!options_.form || tier_.empty()) return false;
  bool any = false;
  for (RecordPart part = kFirstPart; part < request.read.parts; ++part) {
    View& view = request.kept.views[part];
    view = find_part(request, part);
    any |= static_cast<bool>(view);
    if (view) {
      request.read.bytes[part] = view.bytes();
    } else if (!fetched(request.read.at[part]) && !request.read.at[part].bytes.empty()) {
      request.read.bytes[part] = request.read.at[part].bytes;
      request.read.identity[part] = {.size = request.read.bytes[part].size()};
    } else {
      any = false;
      break;
    }
  }
  any ? static_cast<void>(hits_.fetch_add(1, std::memory_order_relaxed)) : request.kept.unpin();
  return any;
}

bool RecordCache::wants(const KeepRequest& request, RecordPart part, std::size_t bytes) const noexcept {
  const std::size_t room = tier_.room();
  if (!options_.form || room < bytes || room <= room_in_vain_.load(std::memory_order_relaxed)) return false;
  const View& kept = request.kept.views[part];
  const bool there = kept && kept.form() == form(part);
  const Location& at = request.read.at[part];
  if (there || at.contents.decoded) return false;
  if (!fetched(at)) return form(part) != FormId::kBytes;
  if (!kept && request.read.state[part] == kUnknownState) return false;
  // What the page cache has let go by the next pass is not there to be had for nothing.
  const bool lost = !source_->storage().page_cached() || passes_.load(std::memory_order_relaxed) > 1;
  return options_.always || kept || (request.read.waited && lost);
}

void RecordCache::keep(const KeepRequest& request, RecordPart part, std::span<const std::uint8_t> entry,
                       const Making& making) {
  const FormId wanted = form(part);
  encode_ns_[static_cast<std::size_t>(wanted)].fetch_add(making.encode_ns, std::memory_order_relaxed);
  if (making.success) return keep_as(wanted, request, part, entry, making.saved_ns);
  if (wanted == FormId::kCoefficients) keep_bytes(request, part);
}

/// Keeps a copy of an entry; see Tier::offer(). Where the part was kept as bytes, those go.
void RecordCache::keep_as(FormId form, const KeepRequest& request, RecordPart part, std::span<const std::uint8_t> entry,
                          std::uint64_t saved_ns) {
  const Location& at = request.read.at[part];
  const RecordIdentity as_bytes = plain(request.record, part, at);
  const std::uint64_t state = fetched(at) ? request.read.state[part] : 0;
  const std::uint64_t read_ns = fetched(at) && !request.kept.views[part] ? request.read.wall_ns : 0;
  const Admission admission =
      tier_.offer({in_form(as_bytes, part, form), state, member_.number}, form, entry.size(), saved_ns + read_ns,
                  [&](std::span<std::uint8_t> place) { std::ranges::copy(entry, place.begin()); });
  if (admission == Admission::kAdmitted) {
    request.kept.admitted[part] = form;
    refused_.store(0, std::memory_order_relaxed);
  } else if (admission == Admission::kFull && refused_.fetch_add(1, std::memory_order_relaxed) + 1 >= kMostRefused) {
    room_in_vain_.store(tier_.room(), std::memory_order_relaxed);
  }
  if (form != FormId::kBytes && request.kept.views[part] && admission != Admission::kFull) tier_.drop(as_bytes);
}

void RecordCache::keep_bytes(const KeepRequest& request, RecordPart part) {
  const auto bytes = request.read.bytes[part];
  if (!fetched(request.read.at[part]) || request.kept.views[part] || !wants(request, part, bytes.size())) return;
  keep_as(FormId::kBytes, request, part, bytes, 0);
}

void RecordCache::decoded(const KeepRequest& request) {
  for (RecordPart part = kFirstPart; part < request.read.parts; ++part) {
    if (form(part) == FormId::kBytes) keep_bytes(request, part);
  }
  keep_whole(request);
}

/// What was kept of a record goes again where another part of it found no room.
void RecordCache::keep_whole(const KeepRequest& request) noexcept {
  const bool some = std::ranges::any_of(request.kept.admitted, [](const auto& form) { return form.has_value(); });
  if (request.read.parts == 1 || !some || knows(request.record)) return;
  for (RecordPart part = kFirstPart; part < request.read.parts; ++part) {
    const std::optional<FormId>& form = request.kept.admitted[part];
    if (form) tier_.drop(in_form(plain(request.record, part, request.read.at[part]), part, *form));
  }
}

}  // namespace drapps::cache
