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

#include "drapps/cache/keeper.h"
#include "drapps/cache/tier.h"
#include "drapps/source/source.h"

namespace drapps::cache {

/// What a loader wants of the cache.
struct RecordCacheOptions {
  std::size_t budget = 0;      // bytes; see Tier::join()
  std::optional<FormId> form;  // in which records are kept; none: they are not
  bool always = true;  // false: only those that storage made a reader wait for, and not what the page cache holds
};

/// All members may be called from any thread, for different requests at once.
class RecordCache final : public Keeper {
 public:
  /// @param tier       outlives this.
  /// @param source     of files, or of bytes in memory.
  /// @param made_with  for each part of the records what else than its file shows in its form, or nothing where it is
  ///                   kept as bytes.
  RecordCache(Tier& tier, std::shared_ptr<const Source> source, const RecordCacheOptions& options,
              const std::vector<std::optional<std::string>>& made_with);
  ~RecordCache() override;
  RecordCache(const RecordCache&) = delete;
  RecordCache& operator=(const RecordCache&) = delete;

  /// One more pass begins.
  void begin_pass() noexcept { passes_.fetch_add(1, std::memory_order_relaxed); }

  bool knows(std::uint64_t record) noexcept override;
  bool find(const KeepRequest& request) noexcept override;
  FormId form(RecordPart part) const noexcept override { return forms_[part].form; }
  bool wants(const KeepRequest& request, RecordPart part, std::size_t bytes) const noexcept override;
  void decoded(const KeepRequest& request) override;

  /// Of this loader's records, by FormId: the share whose first part is kept in that form now. Of a large source some
  /// thousand records, evenly spread, stand for all.
  std::array<double, kForms> shares() noexcept;
  /// Requests that it answered.
  std::uint64_t hits() const noexcept { return hits_.load(std::memory_order_relaxed); }
  /// CPU time that was spent on bringing parts into a form, whether they were admitted or not.
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
  View find_part(const KeepRequest& request, RecordPart part) noexcept;
  void keep(const KeepRequest& request, RecordPart part, std::span<const std::uint8_t> entry,
            const Making& making) override;
  void keep_as(FormId form, const KeepRequest& request, RecordPart part, std::span<const std::uint8_t> entry,
               std::uint64_t saved_ns);
  void keep_bytes(const KeepRequest& request, RecordPart part);
  void keep_whole(const KeepRequest& request) noexcept;

  Tier& tier_;
  const std::shared_ptr<const Source> source_;
  const RecordCacheOptions options_;
  Member member_;
  const std::uint64_t number_;   // among all of the process
  std::vector<PartForm> forms_;  // by part
  std::atomic<std::uint32_t> passes_{0};
  std::atomic<std::uint64_t> hits_{0};
  std::atomic<std::uint32_t> refused_{0};     // entries in a row that found no room
  std::atomic<std::size_t> room_in_vain_{0};  // bytes of room that many entries in a row found too small
  std::array<std::atomic<std::uint64_t>, kForms> encode_ns_{};
};

}  // namespace drapps::cache
