#include "drapps/pipeline/batch_window.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "drapps/base/clock.h"
#include "drapps/source/array.h"

namespace drapps {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kRowsOfBatch = 5;
constexpr std::uint64_t kSteps = 200;

/// Batches of numbers, by rows of one array that nobody reads here.
std::shared_ptr<const Plan> numbers(OnError on_error) {
  static const std::vector<std::int64_t> data(kRowsOfBatch);
  std::vector<Array> arrays{{.name = "number",
                             .dtype = Dtype::kInt64,
                             .data = reinterpret_cast<const std::byte*>(data.data()),
                             .stride = sizeof(std::int64_t),
                             .rows = kRowsOfBatch}};
  PipelineSpec spec;
  spec.sampler.batch = kRowsOfBatch;
  spec.on_error = on_error;
  return *Plan::make(spec, **ArraySource::make(std::move(arrays), std::nullopt, nullptr, nullptr));
}

std::int64_t number_of(std::uint64_t step, std::uint32_t row) { return static_cast<std::int64_t>(step * 100 + row); }

/// A window, filled by whoever the test says; positions count rows.
struct Bench {
  explicit Bench(OnError on_error = OnError::kRaise, std::size_t slots = 64, std::uint64_t steps = kSteps)
      : plan(numbers(on_error)),
        ledger(slots * plan->layout.bytes()),
        window(SlotPayload(plan, arena, 0, ops()), pass(steps), metrics) {
    window.set_depth(4);
  }
  BatchWindow::WindowPass pass(std::uint64_t steps) {
    return {.steps = steps,
            .content = [](std::uint64_t step) { return BatchWindow::Content{kRowsOfBatch, (step + 1) * kRowsOfBatch}; },
            .free_memory = [this] { ++freed; }};
  }
  SlotPayload::BatchOps ops() {
    return [this](std::byte*, std::uint64_t, std::uint32_t) { ++completed; };
  }

  void write(std::uint64_t step, std::uint32_t row, std::byte* slot) const {
    const std::int64_t number = number_of(step, row);
    std::memcpy(plan->layout.row(slot, 0, row), &number, sizeof(number));
  }
  void finish(std::uint64_t step, std::uint32_t rows, std::vector<FailedRow> failed = {}) {
    BatchWindow::Lock lock(window.mutex());
    const bool landed = window.finish(lock, step, rows, failed);
    lock.unlock();
    if (landed) window.notify();
  }
  bool open(std::uint64_t step) {
    const std::scoped_lock lock(window.mutex());
    return window.open(step);
  }
  std::byte* slot(std::uint64_t step) {
    const std::scoped_lock lock(window.mutex());
    return window.place(step)->data();
  }
  /// Opens and fills whole batches, as many as there is room for.
  void fill() {
    for (; open(next); ++next) {
      for (std::uint32_t row = 0; row < kRowsOfBatch; ++row) write(next, row, slot(next));
      finish(next, kRowsOfBatch);
    }
  }
  BatchWindow::Taker& join() {
    const std::scoped_lock lock(window.mutex());
    return window.join();
  }
  void leave(BatchWindow::Taker& taker) {
    const std::scoped_lock lock(window.mutex());
    window.leave(taker);
  }
  /// Waits for it; nothing where that took a minute.
  std::optional<BatchWindow::Next> take(BatchWindow::Taker& taker) {
    BatchWindow::Lock lock(window.mutex());
    if (!window.ask(taker)) return BatchWindow::Finished{};
    if (!window.wait(lock, taker, monotonic_ns() + 60'000'000'000)) return std::nullopt;
    return window.take(taker);
  }
  std::vector<std::int64_t> content(const Batch& batch) const {
    std::vector<std::int64_t> values(batch.rows);
    std::memcpy(values.data(), plan->layout.row(batch.slot.data(), 0, 0), values.size() * sizeof(std::int64_t));
    return values;
  }
  /// Whether it is the whole batch of its step.
  bool exact(const Batch& batch) const {
    std::vector<std::int64_t> expected;
    for (std::uint32_t row = 0; row < kRowsOfBatch; ++row) expected.push_back(number_of(batch.step, row));
    return content(batch) == expected && batch.position == (batch.step + 1) * kRowsOfBatch;
  }

  std::shared_ptr<const Plan> plan;
  MemoryLedger ledger;
  std::shared_ptr<SlotArena> arena = *SlotArena::make(plan->layout.bytes(), ledger);
  Metrics metrics;
  int freed = 0;
  std::atomic<int> completed{0};
  std::uint64_t next = 0;
  BatchWindow window;
};

const Batch& batch_in(const std::optional<BatchWindow::Next>& next) { return std::get<Batch>(*next); }

TEST(BatchWindow, RowsThatFinishLateAndOutOfOrderFromAnyThreadMakeBatchesInOrder) {
  Bench bench;
  struct Row {
    std::uint64_t step;
    std::uint32_t row;
    std::byte* slot;
  };
  std::mutex mutex;
  std::vector<Row> queued;
  std::atomic<bool> over{false};
  const auto finisher = [&](std::uint32_t seed) {
    std::mt19937 random(seed);
    while (true) {
      Row row{};
      {
        const std::scoped_lock lock(mutex);
        if (queued.empty() && over) return;
        if (!queued.empty()) {
          std::swap(queued[random() % queued.size()], queued.back());
          row = queued.back();
          queued.pop_back();
        }
      }
      if (row.slot == nullptr) {
        std::this_thread::yield();
        continue;
      }
      bench.write(row.step, row.row, row.slot);
      bench.finish(row.step, 1);
    }
  };
  auto& taker = bench.join();
  std::jthread first(finisher, 1);
  std::jthread second(finisher, 2);
  std::uint64_t step = 0;
  for (std::uint64_t taken = 0; taken < kSteps; ++taken) {
    for (; bench.open(step); ++step) {
      const std::scoped_lock lock(mutex);
      for (std::uint32_t row = 0; row < kRowsOfBatch; ++row) queued.push_back({step, row, bench.slot(step)});
    }
    const auto next = bench.take(taker);
    ASSERT_TRUE(next);
    EXPECT_EQ(batch_in(next).step, taken);
    EXPECT_TRUE(bench.exact(batch_in(next)));
  }
  over = true;
  EXPECT_TRUE(std::holds_alternative<BatchWindow::Finished>(*bench.take(taker)));
  EXPECT_EQ(bench.completed, static_cast<int>(kSteps));
  EXPECT_EQ(bench.metrics.batches, kSteps);
  EXPECT_EQ(bench.metrics.samples, kSteps * kRowsOfBatch);
}

TEST(BatchWindow, TheSlowestTakerBoundsIt) {
  Bench bench;
  auto& fast = bench.join();
  auto& slow = bench.join();
  bench.fill();
  EXPECT_EQ(bench.next, 4);
  std::vector<Batch> held;
  for (int i = 0; i < 4; ++i) held.push_back(batch_in(bench.take(fast)));
  bench.fill();
  EXPECT_EQ(bench.next, 4);
  const Batch behind = batch_in(bench.take(slow));
  EXPECT_TRUE(bench.exact(behind));
  EXPECT_EQ(behind.slot.data(), held[0].slot.data());  // made once
  bench.fill();
  EXPECT_EQ(bench.next, 5);
  EXPECT_EQ(bench.metrics.batches, 1);
}

TEST(BatchWindow, OfTwoTakersTheOneThatStaysGetsEveryBatchOnceWhereTheOtherIsKilled) {
  Bench bench;
  std::atomic<bool> over{false};
  auto& stays = bench.join();
  auto& dies = bench.join();
  std::jthread filler([&] {
    while (!over) {
      bench.fill();
      std::this_thread::yield();
    }
  });
  std::jthread dying([&] {
    for (std::uint64_t step = 0; step < 30; ++step) {
      const auto next = bench.take(dies);
      EXPECT_EQ(batch_in(next).step, step);
      EXPECT_TRUE(bench.exact(batch_in(next)));
      std::this_thread::sleep_for(1ms);
    }
    bench.leave(dies);
  });
  for (std::uint64_t step = 0; step < kSteps; ++step) {
    const auto next = bench.take(stays);
    ASSERT_TRUE(next);
    EXPECT_EQ(batch_in(next).step, step);
    EXPECT_TRUE(bench.exact(batch_in(next)));
  }
  over = true;
  dying.join();
  filler.join();
  EXPECT_EQ(bench.metrics.batches, kSteps);
  EXPECT_EQ(bench.ledger.held(), 0u);
  bench.arena->trim();
  EXPECT_EQ(bench.ledger.used(), 0u);
}

TEST(BatchWindow, WhatTheSlowestLeavesBehindIsLetGoOf) {
  Bench bench;
  auto& fast = bench.join();
  auto& slow = bench.join();
  bench.fill();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(bench.take(fast));
  EXPECT_GT(bench.ledger.held(), 0u);
  bench.leave(slow);
  EXPECT_EQ(bench.ledger.held(), 0u);
  bench.fill();
  EXPECT_EQ(bench.next, 7);
  auto& late = bench.join();
  EXPECT_EQ(late.step(), 3);
  EXPECT_EQ(bench.window.position(late), 3 * kRowsOfBatch);
  EXPECT_EQ(batch_in(bench.take(late)).step, 3);
  bench.leave(late);
  bench.leave(fast);
  bench.fill();
  EXPECT_EQ(bench.next, 7);  // nobody takes any more
}

TEST(BatchWindow, EveryTakerGetsTheErrorOfABadRowAndTheNextBatch) {
  Bench bench;
  auto& one = bench.join();
  auto& two = bench.join();
  ASSERT_TRUE(bench.open(0));
  bench.finish(0, 3);
  bench.finish(0, 1, {{4, Error{.code = ErrorCode::kCorrupt, .message = "the later row"}}});
  bench.finish(0, 1, {{1, Error{.code = ErrorCode::kCorrupt, .message = "the earlier row"}}});
  bench.next = 1;
  bench.fill();
  for (auto* taker : {&one, &two}) {
    EXPECT_EQ(std::get<Error>(*bench.take(*taker)).message, "the earlier row");
    EXPECT_TRUE(bench.exact(batch_in(bench.take(*taker))));
  }
  EXPECT_EQ(bench.metrics.samples, kRowsOfBatch);
}

TEST(BatchWindow, SkippedRowsLeaveTheBatch) {
  Bench bench(OnError::kSkip);
  auto& taker = bench.join();
  ASSERT_TRUE(bench.open(0));
  for (std::uint32_t row = 0; row < kRowsOfBatch; ++row) bench.write(0, row, bench.slot(0));
  bench.finish(0, kRowsOfBatch, {{3, Error{.code = ErrorCode::kCorrupt}}, {0, Error{.code = ErrorCode::kCorrupt}}});
  EXPECT_EQ(bench.content(batch_in(bench.take(taker))), (std::vector<std::int64_t>{1, 2, 4}));
}

TEST(BatchWindow, MemoryThatIsShortIsNotedForTheFrontAlone) {
  Bench bench(OnError::kRaise, 2);
  auto& taker = bench.join();
  bench.fill();
  EXPECT_EQ(bench.next, 2);
  EXPECT_FALSE(bench.window.lacking());
  const auto first = bench.take(taker);
  const auto second = bench.take(taker);
  const std::size_t others = bench.ledger.limit() - bench.ledger.used();
  ASSERT_TRUE(bench.ledger.try_reserve(others));
  EXPECT_FALSE(bench.open(2));
  EXPECT_TRUE(bench.window.lacking());
  EXPECT_EQ(bench.freed, 1);
  EXPECT_FALSE(bench.window.take_lack());  // not for long enough
  bench.ledger.release(others);
  EXPECT_TRUE(bench.open(2));
  EXPECT_FALSE(bench.window.lacking());
}

}  // namespace
}  // namespace drapps
