// Which bytes of an ItemCache's memory are which item's.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "drapps/shm/item_layout.h"

namespace drapps {

/// Changes are made under a lock that processes share. It names its holder: where that has died, whoever comes next
/// takes it over and makes the book anew of the slots. Where it stands still there is no room, and where it keeps
/// the lock for two seconds. Thread-safe.
class ItemBook {
 public:
  /// @param memory  a mapping of all of `file`. What it is given outlives it.
  ItemBook(const SharedFile& file, std::byte* memory, const ItemGeometry& geometry)
      : file_(file),
        memory_(memory),
        begin_(geometry.data_offset),
        end_(begin_ + geometry.budget),
        entry_(reinterpret_cast<ItemHeader*>(memory)->book),
        slots_(reinterpret_cast<ItemSlot*>(memory + kItemSlotsOffset), geometry.items) {}

  /// Makes the book empty. By who makes the memory, before others see it.
  void clear() noexcept { entry_.end = begin_; }

  /// Gives a slot of the process `me` room for so many bytes, backed by pages; what it had before is released. False
  /// where there is none: the budget is used up, or no gap is as large, or the system has no memory.
  bool allocate(ItemSlot& slot, std::uint64_t bytes, const Owner& me);
  /// Releases the bytes of a slot of the process `me`. Where a holder stands still they stay until reclaim().
  void release(ItemSlot& slot, const Owner& me);
  /// Releases what dead processes were making, and makes the book anew.
  void reclaim(const Owner& me);

  std::span<ItemSlot> slots() const noexcept { return slots_; }
  std::uint64_t used() const noexcept { return entry_.used.load(std::memory_order_relaxed); }

  struct ItemExtent {
    std::uint64_t begin;
    std::uint64_t bytes;  // whole units of kItemAlignment
  };
  /// The bytes of a slot; nothing where it has none, or says what cannot be.
  std::optional<ItemExtent> extent_of(const ItemSlot& slot) const noexcept;

 private:
  class BookHold;

  bool take(const Owner& me);
  void repair() noexcept;
  std::optional<std::uint64_t> place_for(std::uint64_t bytes);
  bool back(const ItemExtent& extent) const noexcept;
  void look_for_gaps();
  void drop(ItemSlot& slot) noexcept;
  void drop_what_the_dead_have(const Owner& me);

  const SharedFile& file_;
  std::byte* const memory_;
  const std::uint64_t begin_;
  const std::uint64_t end_;
  ItemBookEntry& entry_;
  const std::span<ItemSlot> slots_;
};

}  // namespace drapps
