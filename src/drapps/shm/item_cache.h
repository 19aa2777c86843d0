// What a dataset gives for its indices, kept in memory that processes share: each item made once, and kept for ever.
//
//   get() → its bytes
//         → nothing: claim() → made meanwhile: get()
//                            → this process makes it: begin() → write → publish(), or abandon()
//
// It is a sparse memfd that each process maps: inherited by a fork, or attached to by the number that it has in a
// process that runs. Pages exist from begin() on. Of a process that dies nothing stays but what it has published.
#pragma once

#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "drapps/base/result.h"
#include "drapps/shm/file.h"
#include "drapps/shm/item_book.h"
#include "drapps/shm/item_layout.h"

namespace drapps {

using ItemToken = std::array<std::uint64_t, 2>;
using ItemKey = std::array<std::byte, kItemKeyBytes>;

enum class ItemClaim : std::uint8_t {
  kTaken,    // this process makes it now, and says what came of it
  kReady,    // it is there
  kBusy,     // another thread or process is still making it
  kStopped,  // who is making it stands still, and may do so for ever
};

struct ItemStats {
  std::uint64_t kept = 0;       // items that are there
  std::uint64_t bytes = 0;      // of items that are there or being written, in units of kItemAlignment
  std::uint64_t hits = 0;       // get() that gave an item
  std::uint64_t misses = 0;     // get() that gave nothing
  std::uint64_t refused = 0;    // begin() that found no room
  std::uint64_t abandoned = 0;  // claims that came to nothing otherwise
};

/// Thread-safe. A child of a process has its parent's, and is a process of its own in it: what the parent had claimed
/// stays the parent's.
class ItemCache {
 public:
  static constexpr std::chrono::nanoseconds kAtOnce{0};

  /// A new cache for the indices 0 to `items` - 1.
  /// @param budget  bytes that all items together may have at most, with what alignment adds to each. Beside them it
  ///                takes 24 bytes per index, and two or three pages.
  /// @param key     what the items are made of, for whoever attaches.
  /// kInvalidArgument for numbers out of range, kResourceExhausted where the system has no such memory.
  static Result<std::shared_ptr<ItemCache>> make(std::uint64_t items, std::uint64_t budget, const ItemKey& key = {});
  /// The cache that has the descriptor `fd` in the process `pid`, which runs and is of the same user. The token tells
  /// it from whatever may have that number by now. kNotFound, kPermission, or kInvalidArgument where it is something
  /// else.
  static Result<std::shared_ptr<ItemCache>> attach(pid_t pid, int fd, const ItemToken& token);

  ItemCache(const ItemCache&) = delete;
  ItemCache& operator=(const ItemCache&) = delete;

  int fd() const noexcept { return file_.fd(); }
  const ItemToken& token() const noexcept { return geometry_.token; }
  const ItemKey& key() const noexcept { return geometry_.key; }
  std::uint64_t items() const noexcept { return geometry_.items; }
  std::uint64_t budget() const noexcept { return geometry_.budget; }
  /// Bytes beside those of items.
  std::uint64_t table_bytes() const noexcept { return geometry_.data_offset; }

  // get() to abandon() take an index below items().

  /// The bytes of an item, which never change and are there as long as this object; nothing where it is not there.
  /// Takes no lock and makes no system call. Empty where the memory was overwritten.
  std::optional<std::span<const std::byte>> get(std::uint64_t index) const noexcept;
  /// Whether this process makes an item that get() did not give. One that is being made is waited for, as long as its
  /// maker runs, up to `patience`; do not wait while another claim is held.
  ItemClaim claim(std::uint64_t index, std::chrono::nanoseconds patience = kAtOnce);
  /// Room for a claimed item. Nothing where there is none for so many bytes; the claim is over then.
  /// begin() and publish(): kInvalidArgument where this process has not claimed the item, or has not begun it.
  Result<std::optional<std::span<std::byte>>> begin(std::uint64_t index, std::uint64_t bytes);
  /// From now on, what was written is the item, for everybody.
  Status publish(std::uint64_t index);
  /// The claimed item is not to be kept. One that is not this process's is left alone.
  void abandon(std::uint64_t index);

  /// Whether no process has asked the same before; `what` is below 64. For what is to be said once.
  bool first(std::uint32_t what) noexcept;
  /// Whether any process has asked first() about `what`.
  bool asked(std::uint32_t what) const noexcept;
  /// Releases what dead processes were making. It happens by itself where begin() finds no room.
  void reclaim();
  /// Looks at every slot.
  ItemStats stats() const noexcept;

 private:
  ItemCache(SharedFile file, Mapping mapping, const ItemGeometry& geometry);
  static Result<std::shared_ptr<ItemCache>> open(SharedFile file, const ItemGeometry& geometry);

  ItemHeader& header() const noexcept { return *reinterpret_cast<ItemHeader*>(mapping_.data()); }
  ItemCounterSet& counters() const noexcept;
  ItemSlot& slot(std::uint64_t index) const noexcept { return book_.slots()[index]; }
  bool mine(const ItemSlot& slot) const;

  const SharedFile file_;
  const Mapping mapping_;
  const ItemGeometry geometry_;
  ItemBook book_;
};

}  // namespace drapps
