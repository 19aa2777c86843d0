// A process that shares the memory writes where it must not, as native code of a dataset may: whatever is overwritten,
// the others get errors, and none of them crashes or hangs.
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <span>
#include <thread>
#include <vector>

#include "drapps/shm/testing.h"
#include "drapps/worker/testing.h"

namespace drapps {
namespace {

using namespace worker_testing;
using shm_testing::data_of;
using shm_testing::header_of;

constexpr std::uint64_t kRegion = std::uint64_t{1} << 20;
constexpr std::uint32_t kProcesses = 3;
constexpr std::uint32_t kTasks = 4;
constexpr milliseconds kNoTime{0};

class OverwrittenTest : public ::testing::Test {
 protected:
  std::unique_ptr<Board> board_ = make_board(kProcesses, kTasks, kRegion);
  std::shared_ptr<BoardMemory> memory_ = board_->memory();

  /// A task with a result of two blocks.
  std::uint64_t done_task() {
    auto client = attached(*board_);
    const std::uint64_t ticket = publish(*board_, 5, {.pieces = 2});
    own(*client, *client->next(kNoTime, false));
    return ticket;
  }
};

TEST_F(OverwrittenTest, AResultThatIsNotThereIsAnError) {
  const std::uint64_t manifest_words = (sizeof(Manifest) + 2 * sizeof(ManifestPart)) / 8;
  for (std::uint64_t word = 0; word <= manifest_words; ++word) {
    if (word == 1) continue;  // the user's kind, and how many parts: fewer are a smaller result
    board_ = make_board(kProcesses, kTasks, kRegion);
    memory_ = board_->memory();
    const std::uint64_t ticket = done_task();
    std::atomic<std::uint64_t>& output = memory_->task(ticket).output;
    if (word == 0) {
      output += 64;
    } else {
      reinterpret_cast<std::uint64_t*>(data_of(*memory_, output))[word - 1] = ~std::uint64_t{0} / 3;
    }
    const auto taken = board_->take(ticket);
    ASSERT_FALSE(taken.ok()) << word;
    EXPECT_EQ(taken.error().code, ErrorCode::kCorrupt);
    EXPECT_NE(taken.error().message.find("written where it must not"), std::string::npos);
    EXPECT_EQ(board_->take(ticket).error().code, ErrorCode::kNotFound) << "it has left the board";
  }
}

TEST_F(OverwrittenTest, AManifestOfTooManyPartsIsAnError) {
  const std::uint64_t ticket = done_task();
  reinterpret_cast<Manifest*>(data_of(*memory_, memory_->task(ticket).output))->parts = 0xFFFFFFFF;
  EXPECT_EQ(board_->take(ticket).error().code, ErrorCode::kCorrupt);
}

TEST_F(OverwrittenTest, AnInputThatIsNotThereIsAnErrorOfTheWorker) {
  auto client = attached(*board_);
  const std::uint64_t ticket = publish(*board_, 5, {});
  memory_->task(ticket).input_bytes = kRegion;
  EXPECT_EQ(client->next(kNoTime, false).error().code, ErrorCode::kCorrupt);
}

TEST_F(OverwrittenTest, ATaskWhoseWordSaysSomethingElseIsAnErrorAndNotWaitedForForEver) {
  const Word words[] = {{.ticket = 0, .state = kTaskFree},
                        {.ticket = 0, .state = kTaskClosing},
                        {.ticket = 0, .state = 77},
                        {.ticket = 8, .state = kTaskOpen},
                        {.ticket = 0, .process = 1, .state = kTaskOwned},  // which nobody is
                        {.ticket = 0, .process = 60'000, .state = kTaskOwned}};
  for (const Word& word : words) {
    board_ = make_board(kProcesses, kTasks, kRegion);
    memory_ = board_->memory();
    auto worker = attached(*board_);
    const std::uint64_t ticket = publish(*board_, 5, {.pieces = 2});
    ASSERT_EQ(ticket, 0u);
    memory_->task(ticket).word = word.bits();
    EXPECT_TRUE(board_->wait(ticket, Board::kForever));
    const auto taken = board_->take(ticket);
    ASSERT_FALSE(taken.ok());
    EXPECT_EQ(taken.error().code, ErrorCode::kCorrupt);
    EXPECT_FALSE(board_->done(ticket)) << "it has left the board";
    const std::uint64_t next = publish(*board_, 6, {});
    own(*worker, *worker->next(kNoTime, false));
    EXPECT_TRUE(board_->wait(next, Board::kForever));
    EXPECT_TRUE(board_->take(next).ok());
  }
}

TEST_F(OverwrittenTest, AWorkerOpensWhatIsSaidToBeItsOwnAndIsNot) {
  auto worker = attached(*board_);
  const std::uint64_t ticket = publish(*board_, 5, {.pieces = 2});
  memory_->task(ticket).word = Word{.ticket = ticket, .process = 0, .state = kTaskOwned}.bits();
  memory_->task(ticket).piece[1] = Word{.ticket = ticket, .process = 0, .state = kPieceRunning}.bits();
  own(*worker, *worker->next(kLong, false));
  EXPECT_TRUE(board_->wait(ticket, Board::kForever));
  EXPECT_TRUE(board_->take(ticket).ok());
}

TEST_F(OverwrittenTest, WhatTheParentAloneWritesIsWrittenAgain) {
  const std::function<void(TaskEntry&)> overwrites[] = {
      [&](TaskEntry&) { memory_->header().next = 0; },
      [&](TaskEntry&) { memory_->header().oldest = 1'000; },
      [](TaskEntry& task) { task.pinned = 2; },
      [](TaskEntry& task) { task.cancelled = 1; },
  };
  for (const auto& overwrite : overwrites) {
    board_ = make_board(kProcesses, kTasks, kRegion);
    memory_ = board_->memory();
    const std::uint64_t ticket = publish(*board_, 5, {.pieces = 2});
    overwrite(memory_->task(ticket));
    auto worker = attached(*board_);
    const std::jthread works([&] { own(*worker, *worker->next(kLong, false)); });
    EXPECT_TRUE(board_->wait(ticket, Board::kForever));
    EXPECT_TRUE(board_->take(ticket).ok());
  }
}

/// Writes odd numbers over words of everything but the header's geometry, which nobody reads again.
void overwrite(const BoardMemory& memory, std::mt19937_64& random, int words) {
  const auto odd = [&]() -> std::uint64_t {
    const std::uint64_t near[] = {0, 1, 64, 4096, kRegion, memory.region_begin(0), memory.region_begin(1)};
    switch (random() % 4) {
      case 0: return near[random() % std::size(near)];
      case 1: return memory.region_begin(1) + random() % (2 * kRegion) / 64 * 64;
      case 2: return random() >> random() % 64 << (random() % 2 == 0 ? 12 : 0);
      default:
        return Word{random() % 8, static_cast<std::uint32_t>(random() % 8), static_cast<std::uint8_t>(random() % 8)}
            .bits();
    }
  };
  const auto over = [&](void* memory_of, std::size_t bytes) {
    static_cast<std::uint64_t*>(memory_of)[random() % (bytes / 8)] = odd();
  };
  for (int i = 0; i < words; ++i) {
    TaskEntry& task = memory.task_at(static_cast<std::uint32_t>(random() % kTasks));
    switch (random() % 6) {
      case 0: over(&task, sizeof(task)); break;
      case 1: over(&task, offsetof(TaskEntry, piece) + 32); break;
      case 2: over(&memory.process(static_cast<std::uint32_t>(random() % kProcesses)), sizeof(ProcessEntry)); break;
      case 3: over(&memory.region(static_cast<std::uint32_t>(random() % (kProcesses + 1))), sizeof(RegionEntry)); break;
      case 4: over(&memory.header().work, sizeof(BoardHeader) - offsetof(BoardHeader, work)); break;
      case 5:
        over(&header_of(memory, memory.region_begin(static_cast<std::uint32_t>(random() % kProcesses))), 64 << 10);
        break;
    }
  }
}

TEST_F(OverwrittenTest, WhateverIsOverwrittenTheOthersGoOnOrGetErrors) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    board_ = make_board(kProcesses, kTasks, kRegion);
    memory_ = board_->memory();
    auto owner = attached(*board_);
    auto thief = attached(*board_);
    std::vector<std::uint64_t> tickets{publish(*board_, 1, {.pieces = 3}), publish(*board_, 2, {.pieces = 2})};
    ASSERT_EQ(owner->next(kNoTime, false)->kind, Work::WorkKind::kTask);
    const Work stolen = *thief->next(kNoTime, false);
    if (stolen.kind == Work::WorkKind::kPiece) help(*thief, stolen);
    if (stolen.kind == Work::WorkKind::kTask) own(*thief, stolen);
    std::vector<TakenResult> held;
    for (int round = 0; round < 6; ++round) {
      overwrite(*memory_, random, 3);
      if (const auto ticket = board_->publish(bytes_of(round), {.pieces = 2}); ticket.ok() && *ticket) {
        tickets.push_back(**ticket);
      }
      for (const std::uint64_t ticket : tickets) {
        board_->wait(ticket, kNoTime);
        if (auto taken = board_->take(ticket); taken.ok()) {
          for (const HeldPart& part : taken->parts) {
            if (!part.data.empty()) part.data.back() = part.data.front();
          }
          held.push_back(*std::move(taken));
        }
        static_cast<void>(owner->begin(ticket, 1));
        static_cast<void>(owner->ready(ticket));
        static_cast<void>(owner->delivered(ticket, 2));
        const Bytes parts[] = {bytes_of(ticket)};
        static_cast<void>(owner->deliver(ticket, 0, parts));
        static_cast<void>(thief->deliver_piece(ticket, 0, 0, parts));
      }
      static_cast<void>(thief->next(kNoTime, true));
      static_cast<void>(owner->next(kNoTime, true));
      board_->cancel(tickets[random() % tickets.size()]);
      board_->repin(tickets[random() % tickets.size()], 1);
      for (std::uint32_t number = 0; number < kProcesses; ++number) static_cast<void>(board_->status(number));
      static_cast<void>(board_->slowest());
      static_cast<void>(board_->bytes_in_use());
      board_->retire(static_cast<std::uint32_t>(random() % kProcesses));
      if (round > 2) static_cast<void>(board_->reap(static_cast<std::uint32_t>(random() % kProcesses)));
      if (round > 3) static_cast<void>(board_->enlist());
      if (random() % 2 == 0) held.clear();
    }
    board_->stop();
  }
}

}  // namespace
}  // namespace drapps
