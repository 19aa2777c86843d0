// The tasks of a pass and the workspaces that they borrow: made when they are first needed, and used again.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "drapps/modality/modality.h"
#include "drapps/pipeline/task.h"

namespace drapps {

/// No member is safe to call from two threads at once: the runner's mutex guards it.
class TaskPool {
 public:
  /// @param ledger  gets what tasks and workspaces take; outlives this.
  explicit TaskPool(MemoryLedger& ledger) noexcept : ledger_(ledger) {}

  std::size_t size() const noexcept { return tasks_.size(); }
  bool has_free() const noexcept { return !free_tasks_.empty(); }
  /// Tasks that are under way.
  std::size_t lent() const noexcept { return tasks_.size() - free_tasks_.size(); }
  /// One more task, which is free.
  void add();
  /// Requires has_free().
  SampleTask& take() noexcept;
  /// Never allocates.
  void put(SampleTask& task) noexcept { free_tasks_.push_back(&task); }

  /// Gives the task a free workspace, if there is any.
  void lend_workspace(SampleTask& task) noexcept;
  /// Gives it a new one.
  void add_workspace(SampleTask& task, Workspace&& workspace);
  /// Takes its workspace back, where it has one. Never allocates.
  void return_workspace(SampleTask& task) noexcept;

  /// Frees what free tasks and workspaces keep for samples to come.
  void free_memory() noexcept;

 private:
  MemoryLedger& ledger_;
  std::vector<std::unique_ptr<SampleTask>> tasks_;
  std::vector<SampleTask*> free_tasks_;
  std::vector<std::unique_ptr<Workspace>> workspaces_;
  std::vector<Workspace*> free_workspaces_;
};

}  // namespace drapps
