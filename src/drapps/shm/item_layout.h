// What lies in the memory of an ItemCache.
//
//   header | counters | a slot per item | the items' bytes
//
// Any process may be killed between any two instructions. Hence:
//   - what a process has taken is said by one word that names it, written by one atomic operation;
//   - the truth about who has which bytes is in the slots alone: the book (how many are in use, where the next go) can
//     be made of them again at any time, and is, where whoever was writing in it died;
//   - an item's bytes are in its slot while they are its own: its offset is written last, and taken away first.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "drapps/base/process_name.h"
#include "drapps/shm/file.h"

namespace drapps {

inline constexpr std::uint64_t kItemAlignment = 16;  // of an item's bytes
inline constexpr std::size_t kItemCounterSets = 64;  // processors have one each, up to that many
inline constexpr std::size_t kItemKeyBytes = 32;

/// Who has a slot, or the book, and what for: state (8 bits), pid (22), start time (34). Processes are named as they
/// are by ProcessName, so that no other one is ever taken for one that has died.
struct Owner {
  static constexpr int kPidShift = 8;
  static constexpr int kStartShift = 30;
  static constexpr std::uint64_t kPidMask = (std::uint64_t{1} << (kStartShift - kPidShift)) - 1;
  static_assert(kStartShift + ProcessName::kStartBits == 64);

  ProcessName process;
  std::uint8_t state = 0;

  static constexpr Owner of(std::uint64_t bits) noexcept {
    return {.process = {.pid = static_cast<pid_t>(bits >> kPidShift & kPidMask), .start = bits >> kStartShift},
            .state = static_cast<std::uint8_t>(bits & 0xFF)};
  }
  constexpr std::uint64_t bits() const noexcept {
    return process.start << kStartShift | static_cast<std::uint64_t>(process.pid) << kPidShift | state;
  }
};

/// The life of an item. Its owner moves it from kItemClaimed to one of the others; a dead owner's is anybody's.
enum ItemState : std::uint8_t {
  kItemAbsent,
  kItemClaimed,  // a process is making it
  kItemReady,    // its bytes are there for ever; it has no owner any more
};

struct ItemSlot {
  std::atomic<std::uint64_t> word;    // an Owner with an ItemState
  std::atomic<std::uint64_t> offset;  // of its bytes in the memory; 0: it has none
  std::atomic<std::uint64_t> bytes;
};
static_assert(sizeof(ItemSlot) == 24 && std::atomic<std::uint64_t>::is_always_lock_free);

/// Where everything is. Written once, before the memory is shared.
struct ItemGeometry {
  std::uint64_t magic = 0;
  std::array<std::uint64_t, 2> token{};  // random: no other memory has it
  std::array<std::byte, kItemKeyBytes> key{};
  std::uint64_t items = 0;
  std::uint64_t budget = 0;  // of the items' bytes; whole units of kItemAlignment
  std::uint64_t data_offset = 0;
  std::uint64_t file_bytes = 0;
};

/// Guarded by the lock, which names its holder; read without it for a look alone.
struct ItemBookEntry {
  std::atomic<std::uint64_t> lock;  // an Owner, or 0
  std::atomic<std::uint64_t> used;  // bytes that are some slot's
  std::atomic<std::uint64_t> end;   // no slot has bytes behind this offset
  // Bytes before the end that are no slot's: the largest such gap, as far as is known, and how large another may be.
  std::atomic<std::uint64_t> gap;
  std::atomic<std::uint64_t> gap_bytes;
  std::atomic<std::uint64_t> other_gap_bytes;
  std::atomic<std::uint64_t> reclaim_ns;  // when what the dead have is looked for next, on CLOCK_MONOTONIC
};

struct alignas(64) ItemCounterSet {
  std::atomic<std::uint64_t> hits;
  std::atomic<std::uint64_t> misses;
  std::atomic<std::uint64_t> refused;
  std::atomic<std::uint64_t> abandoned;
};

struct ItemHeader {
  ItemGeometry geometry;
  std::atomic<std::uint64_t> asked;  // bits, see ItemCache::first()
  alignas(64) ItemBookEntry book;
  std::array<ItemCounterSet, kItemCounterSets> counters;
};

inline constexpr std::uint64_t kItemSlotsOffset = round_up(sizeof(ItemHeader), kPageBytes);

}  // namespace drapps
