// What is kept of records between the stages of their preparation and from pass to pass, seen by who prepares them.
//
//   if (keeper->find(request)) return ok_status();  // nothing is to be read
//   if (keeper->wants(request, part, bytes)) keeper->offer(request, part, saved_ns, [&] { return encode(array); });
//   keeper->decoded(request);
//
// A modality says what could be kept of a part, and how that is read again. Whether it is kept, where and for how long
// is the keeper's business.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "drapps/base/caught.h"
#include "drapps/base/clock.h"
#include "drapps/base/result.h"
#include "drapps/cache/tier.h"
#include "drapps/storage/reader.h"

namespace drapps::cache {

/// What one sample's record has in the cache.
struct Kept {
  std::array<View, kMaxParts> views;                      // of its parts, as they were found
  std::array<std::optional<FormId>, kMaxParts> admitted;  // parts that were kept since it was asked for, and how

  /// Its parts are no longer needed.
  void unpin() noexcept {
    for (View& view : views) view.reset();
    admitted = {};
  }
};

/// A record that may be kept: its index, what was read of it, and what is kept of it.
struct KeepRequest {
  std::uint64_t record = 0;
  ReadRequest& read;
  Kept& kept;
};

/// All members may be called from any thread, for different requests at once.
class Keeper {
 public:
  virtual ~Keeper() = default;

  /// Whether all parts of a record are kept; their files are not looked at.
  virtual bool knows(std::uint64_t record) noexcept = 0;
  /// Answers a request, whose `read.at` and `read.parts` are set, from what is kept: `read.bytes` (of a part that is
  /// kept as bytes), `read.identity`, and `kept`. False, and nothing is answered, where a part is missing or its file
  /// has changed.
  virtual bool find(const KeepRequest& request) noexcept = 0;

  /// In which form a part is kept.
  virtual FormId form(RecordPart part) const noexcept = 0;
  /// Whether a part that was fetched is to be kept in its form, and there is room for some `bytes`. Not where entries
  /// of unforeseen size were made in vain for as much room as there is.
  virtual bool wants(const KeepRequest& request, RecordPart part, std::size_t bytes) const noexcept = 0;

  /// Keeps what `make` makes of a part: the entry in the part's form. A failure of it, or a lack of memory to keep it,
  /// is none of the sample: then the part is not kept, or as bytes where its form is made of the file's bytes alone.
  /// @param make      gives a Result of the entry's bytes.
  /// @param saved_ns  of work that having it saves, beside reading the record.
  template <class Make>
  void offer(const KeepRequest& request, RecordPart part, std::uint64_t saved_ns, const Make& make) {
    std::span<const std::uint8_t> entry;
    const std::uint64_t begun = thread_cpu_ns();
    const Status status = catching([&]() -> Status {
      auto bytes = make();
      if (!bytes.ok()) return std::move(bytes).error();
      entry = *bytes;
      return ok_status();
    });
    const Making making{.success = status.ok(), .encode_ns = thread_cpu_ns() - begun, .saved_ns = saved_ns};
    static_cast<void>(catching([&] { keep(request, part, entry, making); }));
  }
  /// A record has been decoded, and nothing else will be offered of it but what ops make: what is kept as bytes is kept
  /// now, and what was kept of a part goes again where another part found no room.
  virtual void decoded(const KeepRequest& request) = 0;

 protected:
  struct Making {
    bool success = false;
    std::uint64_t encode_ns = 0;  // thread-CPU time, whether it was made or not
    std::uint64_t saved_ns = 0;
  };
  virtual void keep(const KeepRequest& request, RecordPart part, std::span<const std::uint8_t> entry,
                    const Making& making) = 0;
};

}  // namespace drapps::cache
