// What one loader keeps of its source's records in a tier of the cache, and finds there again.
//
// A record is found where all its parts are, each in the loader's form or as the bytes of its file. Whether a file has
// changed is looked at whenever a part of it is found, which is once a pass for each record. What has no file (bytes in
// memory) is kept in forms that save work alone, under names that no other loader has.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "drapps/cache/tier.h"
#include "drapps/source/source.h"
#include "drapps/storage/reader.h"

namespace drapps::cache {

class RecordCache;

/// A request for a record that may be kept.
struct Request : ReadRequest {
  std::uint64_t index = 0;       // of the record
  RecordCache* cache = nullptr;  // where it may be, or null
  bool waited = false;           // storage made its reader wait
  std::array<View, kMaxParts> kept;
  std::array<std::optional<FormId>, kMaxParts> admitted;  // parts that were kept since it was asked for, and how

  /// Its parts are no longer needed.
  void unpin() noexcept {
    for (View& view : kept) view.reset();
    admitted = {};
  }
};

/// What a loader wants of the cache.
struct Wish {
  std::size_t budget = 0;      // bytes; see Tier::join()
  std::optional<FormId> form;  // in which records are kept; none: they are not
  bool always = true;  // false: only those that storage made a reader wait for, and not what the page cache holds
};

/// All members may be called from any thread, for different requests at once.
class RecordCache {
 public:
  /// @param tier       outlives this.
  /// @param source     of files, or of bytes in memory.
  /// @param made_with  for each part of the records what else than its file shows in its form, or nothing where it is
  ///                   kept as bytes.
  RecordCache(Tier& tier, std::shared_ptr<const Source> source, const Wish& wish,
              const std::vector<std::optional<std::string>>& made_with);
  ~RecordCache();
  RecordCache(const RecordCache&) = delete;
  RecordCache& operator=(const RecordCache&) = delete;

  /// One more pass begins.
  void begin_pass() noexcept { passes_.fetch_add(1, std::memory_order_relaxed); }

  /// Whether all parts of a record are kept; their files are not looked at.
  bool knows(std::uint64_t index) noexcept;
  /// Answers a request, whose `at` and `parts` are set, from what is kept: `bytes` (of a part that is kept as bytes),
  /// `identity`, and `kept`. False, and nothing is answered, where a part is missing or its file has changed.
  bool find(Request& request) noexcept;

  /// In which form a part is kept.
  FormId form(RecordPart part) const noexcept { return forms_[part].form; }
  /// Whether a part that was fetched is to be kept in its form, and there is room for some `bytes`. Not where entries
  /// of unforeseen size were made in vain for as much room as there is.
  bool wants(const Request& request, RecordPart part, std::size_t bytes) const noexcept;
  /// Keeps a copy of an entry of a part; see Tier::offer(). Where it was kept as bytes, those go.
  /// @param saved_ns  of work that having it saves, beside reading the record.
  void keep(Request& request, RecordPart part, FormId form, std::span<const std::uint8_t> entry,
            std::uint64_t saved_ns);
  /// The same with the bytes that were read of it.
  void keep_bytes(Request& request, RecordPart part);
  /// After the last keep(): what was kept of a record goes again where another part of it found no room.
  void keep_whole(const Request& request) noexcept;

  /// Of this loader's records, by FormId: the share whose first part is kept in that form now. Of a large source some
  /// thousand records, evenly spread, stand for all.
  std::array<double, kForms> shares() noexcept;
  /// Requests that it answered.
  std::uint64_t hits() const noexcept { return hits_.load(std::memory_order_relaxed); }
  /// CPU time was spent on bringing a part into a form, whether it was admitted or not.
  void encoded(FormId form, std::uint64_t cpu_ns) noexcept {
    encode_ns_[static_cast<std::size_t>(form)].fetch_add(cpu_ns, std::memory_order_relaxed);
  }
  /// All of that.
  std::uint64_t encode_ns(FormId form) const noexcept {
    return encode_ns_[static_cast<std::size_t>(form)].load(std::memory_order_relaxed);
  }

 private:
  struct PartForm {
    FormId form = FormId::kBytes;
    RecordIdentity made_with;  // in the identity of what is kept in that form
  };

  RecordIdentity plain(std::uint64_t index, RecordPart part, const Location& at) const noexcept;
  RecordIdentity in_form(const RecordIdentity& plain, RecordPart part, FormId form) const noexcept;
  View find_part(Request& request, RecordPart part) noexcept;

  Tier& tier_;
  const std::shared_ptr<const Source> source_;
  const Wish wish_;
  Member member_;
  const std::uint64_t number_;   // among all of the process
  std::vector<PartForm> forms_;  // by part
  std::atomic<std::uint32_t> passes_{0};
  std::atomic<std::uint64_t> hits_{0};
  std::atomic<std::uint32_t> refused_{0};     // entries in a row that found no room
  std::atomic<std::size_t> room_in_vain_{0};  // that many of them have found too small
  std::array<std::atomic<std::uint64_t>, kForms> encode_ns_{};
};

}  // namespace drapps::cache
