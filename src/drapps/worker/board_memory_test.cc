#include "drapps/worker/board_memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>

#include "drapps/shm/testing.h"
#include "drapps/worker/testing.h"

namespace drapps {
namespace {

TEST(BoardMemoryTest, ImpossibleSizesAreErrors) {
  EXPECT_EQ(BoardMemory::make(0, 1).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(BoardMemory::make(1, 0).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(BoardMemory::make(kMaxProcesses + 1, 1).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(BoardMemory::make(1, 1, ~std::uint64_t{0}).error().code, ErrorCode::kInvalidArgument);
}

TEST(BoardMemoryTest, RegionsReserveNothing) {
  const auto before = shm_testing::mapped_of("drapps-workers").first;
  const auto memory = *BoardMemory::make(1000, 1, std::uint64_t{1} << 42);
  EXPECT_EQ(memory->region_bytes(), std::uint64_t{1} << 42);
  EXPECT_LT(shm_testing::mapped_of("drapps-workers").first, before + (std::uint64_t{4} << 20));
}

TEST(BoardMemoryTest, RegionsAreHalvedUntilTheyFitTheLimitOnFiles) {
  // In a process of its own, whose limit stays with it.
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit{.rlim_cur = std::uint64_t{1} << 42, .rlim_max = std::uint64_t{1} << 42};
    setrlimit(RLIMIT_FSIZE, &limit);
    static_cast<void>(signal(SIGXFSZ, SIG_IGN));
    auto memory = BoardMemory::make(1000, 1, std::uint64_t{1} << 42);
    const bool halved = memory.ok() && (*memory)->region_bytes() < std::uint64_t{1} << 42 &&
                        (*memory)->region_bytes() >= std::uint64_t{256} << 20;
    const rlimit less{.rlim_cur = std::uint64_t{1} << 32, .rlim_max = std::uint64_t{1} << 32};
    setrlimit(RLIMIT_FSIZE, &less);
    memory = BoardMemory::make(1000, 1);
    const bool refused = !memory.ok() && memory.error().message.find("ulimit -f") != std::string::npos;
    _exit(halved && refused ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(BoardMemoryTest, AResultMayBeLargerThanAnyMachine) {
  auto board = *Board::make(1100, 4500);
  const auto worker = worker_testing::attached(*board);
  const std::uint64_t ticket = worker_testing::publish(*board, 1, {});
  ASSERT_EQ(worker->next(std::chrono::nanoseconds(0), false)->ticket, ticket);
  constexpr std::uint64_t kBytes = std::uint64_t{100} << 30;
  const auto block = worker->allocate(kBytes);
  ASSERT_TRUE(block.ok()) << block.error().message;
  block->data()[kBytes - 1] = std::byte{9};
  const Bytes parts[] = {{block->data(), kBytes}};
  ASSERT_TRUE(worker->deliver(ticket, 0, parts).ok());
  const auto taken = board->take(ticket);
  ASSERT_TRUE(taken.ok());
  EXPECT_EQ(taken->parts[0].data.size(), kBytes);
  EXPECT_EQ(taken->parts[0].data.back(), std::byte{9});
}

TEST(BoardMemoryTest, AResultThatIsKeptIsAllThatIsKept) {
  auto board = worker_testing::make_board(4, 64);
  const int fd = fcntl(board->memory()->fd(), F_DUPFD_CLOEXEC, 0);
  std::optional<TakenResult> kept;
  {
    const auto worker = worker_testing::attached(*board);
    for (std::uint64_t i = 0; i < 100; ++i) {
      const std::uint64_t ticket = worker_testing::publish(*board, i, {.pieces = 2});
      worker_testing::own(*worker, *worker->next(std::chrono::nanoseconds(0), false));
      if (auto taken = board->take(ticket); i == 50) kept = *std::move(taken);
    }
  }
  board->stop();
  board->reap(0);
  board.reset();
  const SharedFile file = *SharedFile::attach(fd);
  close(fd);
  EXPECT_LE(file.resident(), 4 * kPageBytes);
  EXPECT_EQ(worker_testing::value_in<std::uint64_t>(kept->parts[1].data), 50u);
  kept.reset();
  EXPECT_EQ(file.resident(), 0u);
}

TEST(BoardMemoryTest, OnlyTheMemoryOfABoardIsAttachedTo) {
  EXPECT_EQ(BoardMemory::attach(-1).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(BoardMemory::attach(STDERR_FILENO).error().code, ErrorCode::kInvalidArgument);
}

TEST(BoardMemoryTest, GeometryThatContradictsItselfIsNotAttachedTo) {
  const auto memory = *BoardMemory::make(2, 4, std::uint64_t{64} << 20);
  ASSERT_TRUE(BoardMemory::attach(memory->fd()).ok());
  const BoardGeometry right = memory->header().geometry;
  auto* const words = reinterpret_cast<std::uint64_t*>(&memory->header().geometry);
  for (std::size_t i = 0; i < sizeof(BoardGeometry) / sizeof(std::uint64_t); ++i) {
    for (const std::uint64_t change : {std::uint64_t{1}, std::uint64_t{4096}, ~std::uint64_t{0}}) {
      words[i] += change;
      EXPECT_EQ(BoardMemory::attach(memory->fd()).error().code, ErrorCode::kInvalidArgument) << i << " + " << change;
      memory->header().geometry = right;
    }
  }
}

}  // namespace
}  // namespace drapps
