#include "drapps/pipeline/task_pool.h"

#include <gtest/gtest.h>

namespace drapps {
namespace {

TEST(TaskPool, LendsWhatWasAddedAndTakesItBack) {
  TaskPool pool(MemoryLedger::unlimited());
  EXPECT_FALSE(pool.has_free());
  pool.add();
  pool.add();
  EXPECT_EQ(pool.size(), 2u);
  EXPECT_EQ(pool.lent(), 0u);
  SampleTask& one = pool.take();
  SampleTask& other = pool.take();
  EXPECT_NE(&one, &other);
  EXPECT_FALSE(pool.has_free());
  EXPECT_EQ(pool.lent(), 2u);
  pool.put(one);
  EXPECT_EQ(&pool.take(), &one);
}

TEST(TaskPool, AWorkspaceGoesFromTaskToTask) {
  TaskPool pool(MemoryLedger::unlimited());
  pool.add();
  pool.add();
  SampleTask& one = pool.take();
  SampleTask& other = pool.take();
  pool.lend_workspace(one);
  EXPECT_EQ(one.sample.workspace, nullptr);
  pool.add_workspace(one, Workspace());
  Workspace* const workspace = one.sample.workspace;
  ASSERT_NE(workspace, nullptr);
  pool.return_workspace(one);
  EXPECT_EQ(one.sample.workspace, nullptr);
  pool.return_workspace(one);
  pool.lend_workspace(other);
  EXPECT_EQ(other.sample.workspace, workspace);
  pool.lend_workspace(one);
  EXPECT_EQ(one.sample.workspace, nullptr);
}

TEST(TaskPool, FreesTheBuffersOfFreeTasksAlone) {
  MemoryLedger ledger(1 << 20);
  TaskPool pool(ledger);
  pool.add();
  pool.add();
  SampleTask& busy = pool.take();
  SampleTask& idle = pool.take();
  ASSERT_TRUE(busy.buffers[0].ensure(4096).ok());
  const std::size_t busy_bytes = ledger.used();
  ASSERT_TRUE(idle.buffers[0].ensure(4096).ok());
  pool.put(idle);
  pool.free_memory();
  EXPECT_EQ(ledger.used(), busy_bytes);
  EXPECT_GT(busy_bytes, 0u);
}

}  // namespace
}  // namespace drapps
