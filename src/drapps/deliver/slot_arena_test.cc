#include "drapps/deliver/slot_arena.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <thread>
#include <vector>

#include "drapps/deliver/batch_layout.h"
#include "drapps/deliver/dlpack.h"
#include "drapps/deliver/spare_arenas.h"
#include "drapps/shm/testing.h"

namespace drapps {
namespace {

constexpr std::size_t kBytes = 8192;

/// Of small slots, and of large ones.
class SlotArenaTest : public ::testing::TestWithParam<std::size_t> {
 protected:
  static std::size_t bytes() { return GetParam(); }
};

INSTANTIATE_TEST_SUITE_P(Sizes, SlotArenaTest, ::testing::Values(kBytes, 2 * SlotArena::kLargestInHeap));

TEST_P(SlotArenaTest, AYieldedBatchLeavesTheBudgetAndComesBackAsASpare) {
  MemoryLedger ledger(2 * bytes());
  auto arena = *SlotArena::make(bytes(), ledger);
  Slot* first = *arena->acquire();
  EXPECT_EQ(ledger.used(), bytes());
  std::byte* const data = first->data();
  HeldSlot held = arena->yield(first);
  EXPECT_EQ(ledger.used(), 0u);
  EXPECT_EQ(ledger.held(), bytes());
  HeldSlot second_reference = held;
  held = HeldSlot();
  EXPECT_EQ(ledger.held(), bytes());
  second_reference = HeldSlot();
  EXPECT_EQ(ledger.held(), 0u);
  EXPECT_EQ(ledger.used(), bytes());
  Slot* again = *arena->acquire();
  EXPECT_EQ(again->data(), data);
  arena->abandon(again);
}

TEST_P(SlotArenaTest, TheBudgetIsHardAndHeldBatchesDoNotCount) {
  MemoryLedger ledger(2 * bytes());
  auto arena = *SlotArena::make(bytes(), ledger);
  Slot* a = *arena->acquire();
  Slot* b = *arena->acquire();
  const auto refused = arena->acquire();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kResourceExhausted);
  std::vector<HeldSlot> kept;
  kept.push_back(arena->yield(a));
  kept.push_back(arena->yield(b));
  for (int i = 0; i < 50; ++i) kept.push_back(arena->yield(*arena->acquire()));
  EXPECT_EQ(ledger.held(), 52 * bytes());
  kept.clear();
  EXPECT_EQ(ledger.held(), 0u);
  EXPECT_LE(ledger.used(), ledger.limit());
  arena->trim();
  EXPECT_EQ(ledger.used(), 0u);
}

TEST_P(SlotArenaTest, AsManySlotsComeBackAsWereEverFillingAtATimeAndTwo) {
  MemoryLedger ledger;
  auto arena = *SlotArena::make(bytes(), ledger);
  std::vector<Slot*> filling;
  for (int i = 0; i < 5; ++i) filling.push_back(*arena->acquire());
  std::vector<HeldSlot> held;
  for (Slot* slot : filling) held.push_back(arena->yield(slot));
  for (int i = 0; i < 9; ++i) held.push_back(arena->yield(*arena->acquire()));
  held.clear();
  EXPECT_EQ(arena->spare_bytes(), 7 * bytes());
  EXPECT_EQ(ledger.used(), 7 * bytes());
  EXPECT_EQ(arena->trim(), 7 * bytes());
  EXPECT_EQ(arena->trim(), 0u);
  EXPECT_EQ(ledger.used(), 0u);
}

TEST_P(SlotArenaTest, ARetiredOneKeepsNothing) {
  MemoryLedger ledger;
  auto arena = *SlotArena::make(bytes(), ledger);
  HeldSlot held = arena->yield(*arena->acquire());
  arena->abandon(*arena->acquire());
  arena->retire();
  EXPECT_EQ(ledger.used(), 0u);
  held = HeldSlot();
  EXPECT_EQ(ledger.used(), 0u);
  EXPECT_EQ(ledger.held(), 0u);
}

TEST(SpareArenas, TheyAreCountedReleasedOnDemandAndServeAgain) {
  MemoryLedger ledger(2 * kBytes);
  SpareArenas spare(ledger);
  auto place = std::make_unique<ArenaPlace>(spare);
  EXPECT_EQ(place->take(), nullptr);
  auto arena = *SlotArena::make(kBytes, ledger);
  arena->abandon(*arena->acquire());
  place->keep(arena);
  EXPECT_EQ(spare.releasable(), kBytes);
  EXPECT_EQ(spare.release(1), kBytes);
  EXPECT_EQ(spare.release(1), 0u);
  EXPECT_EQ(ledger.used(), 0u);

  EXPECT_EQ(place->take(), arena);
  Slot* const slot = *arena->acquire();
  EXPECT_EQ(spare.release(1), 0u);  // it is in use
  arena->abandon(slot);
  EXPECT_EQ(spare.releasable(), 0u);
  place->keep(arena);
  auto other = *SlotArena::make(kBytes, ledger);
  other->abandon(*other->acquire());
  place->keep(other);  // there is one already
  EXPECT_EQ(ledger.used(), kBytes);
  EXPECT_EQ(ledger.releasable(), kBytes);
  EXPECT_FALSE(ledger.try_reserve(2 * kBytes));
  EXPECT_TRUE(ledger.reserve(2 * kBytes));
  EXPECT_EQ(spare.releasable(), 0u);
  ledger.release(2 * kBytes);
  place.reset();
  EXPECT_EQ(ledger.used(), 0u);
  EXPECT_EQ(spare.releasable(), 0u);
}

TEST(SlotArena, SmallSlotsThatAreKeptTakeNoMappings) {
  const int before = shm_testing::mapped_of("drapps-batches").second;
  MemoryLedger ledger;
  auto arena = *SlotArena::make(200, ledger);
  std::vector<HeldSlot> kept;
  for (int i = 0; i < 70'000; ++i) {
    kept.push_back(arena->yield(*arena->acquire()));
    std::memcpy(kept.back().data(), &i, sizeof(i));
  }
  EXPECT_EQ(shm_testing::mapped_of("drapps-batches").second, before);
  EXPECT_EQ(ledger.held(), 70'000 * 256u) << "as many bytes as they need, aligned";
  for (int i = 0; i < 70'000; ++i) {
    int read = -1;
    std::memcpy(&read, kept[static_cast<std::size_t>(i)].data(), sizeof(read));
    ASSERT_EQ(read, i);
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(kept[static_cast<std::size_t>(i)].data()) % 64, 0u);
  }
  kept.clear();
  EXPECT_EQ(arena->spare_bytes(), 3 * 256u);
}

TEST_P(SlotArenaTest, AHeldBatchOutlivesTheArenaAndAnyThreadMayReleaseIt) {
  MemoryLedger ledger;
  auto arena = *SlotArena::make(bytes(), ledger);
  HeldSlot held = arena->yield(*arena->acquire());
  arena.reset();
  std::memset(held.data(), 7, bytes());
  std::thread([moved = std::move(held)]() mutable { moved = HeldSlot(); }).join();
  EXPECT_EQ(ledger.used(), 0u);
}

TEST_P(SlotArenaTest, AChildReadsTheBatchThatItsParentHolds) {
  MemoryLedger ledger;
  auto arena = *SlotArena::make(bytes(), ledger);
  Slot* const slot = *arena->acquire();
  const std::byte* const before = slot->data();
  const std::size_t place = slot->offset;
  HeldSlot held = arena->yield(slot);
  std::memset(held.data(), 42, bytes());
  int go[2];
  ASSERT_EQ(pipe(go), 0);
  const pid_t child = fork();
  if (child == 0) {
    char byte = 0;
    const bool ready = read(go[0], &byte, 1) == 1;
    int wrong = ready ? 0 : 1;
    for (std::size_t i = 0; i < bytes(); ++i) wrong += held.data()[i] == std::byte{42} ? 0 : 1;
    held = HeldSlot();  // must neither hang nor touch the parent's arena
    _exit(wrong == 0 ? 0 : 1);
  }
  // The parent drops the batch and fills another: the child's must stay as it was.
  held = HeldSlot();
  Slot* next = *arena->acquire();
  if (bytes() > SlotArena::kLargestInHeap) {
    EXPECT_NE(next->offset, place);
  } else {
    EXPECT_EQ(next->data(), before) << "the child has a copy";
  }
  std::memset(next->data(), 1, bytes());
  ASSERT_EQ(write(go[1], "g", 1), 1);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  arena->abandon(next);
  close(go[0]);
  close(go[1]);
}

TEST(Dlpack, ExportsAViewThatKeepsTheSlotHeld) {
  MemoryLedger ledger;
  auto arena = *SlotArena::make(kBytes, ledger);
  HeldSlot held = arena->yield(*arena->acquire());
  const std::vector<std::int64_t> shape{2, 3, 5};
  DlManagedTensorVersioned* exported = export_dlpack_versioned({held, held.data() + 64, Dtype::kFloat32, shape});
  held = HeldSlot();
  EXPECT_EQ(ledger.held(), kBytes);
  EXPECT_EQ(exported->tensor.ndim, 3);
  EXPECT_EQ(exported->tensor.shape[2], 5);
  EXPECT_EQ(exported->tensor.strides[0], 15);
  EXPECT_EQ(exported->tensor.strides[2], 1);
  EXPECT_EQ(exported->tensor.dtype.code, 2);
  EXPECT_EQ(exported->tensor.dtype.bits, 32);
  EXPECT_EQ(exported->tensor.device, (DlDevice{1, 0}));
  exported->deleter(exported);
  EXPECT_EQ(ledger.held(), 0u);
}

TEST(Dlpack, TheDeviceIsThatOfTheSlot) {
  MemoryLedger ledger;
  auto arena = *SlotArena::make(kBytes, ledger);
  for (const auto& [place, type] :
       {std::pair(MemoryKind::Place::kPinnedHost, 3), std::pair(MemoryKind::Place::kDevice, 2)}) {
    Slot* const slot = *arena->acquire();
    slot->kind = {place, 5};
    const HeldSlot held = arena->yield(slot);
    DlManagedTensor* const exported = export_dlpack({held, held.data(), Dtype::kUint8, {}});
    EXPECT_EQ(exported->tensor.device, (DlDevice{type, 5}));
    exported->deleter(exported);
  }
}

TEST(BatchLayout, ColumnsAreAlignedAndDoNotOverlap) {
  BatchLayout layout(3);
  const auto image = layout.add("image", Dtype::kUint8, {3, 5, 7});
  const auto label = layout.add("label", Dtype::kInt64, {});
  EXPECT_EQ(layout.columns()[image].row_bytes, 105u);
  EXPECT_EQ(layout.columns()[image].offset % 64, 0u);
  EXPECT_EQ(layout.columns()[label].offset % 64, 0u);
  EXPECT_GE(layout.columns()[label].offset, layout.columns()[image].offset + 3 * 105);
  EXPECT_GE(layout.bytes(), layout.columns()[label].offset + 3 * 8);
  EXPECT_GE(layout.columns()[image].offset, sizeof(SlotHeader));
}

}  // namespace
}  // namespace drapps
