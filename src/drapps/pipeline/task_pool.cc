#include "drapps/pipeline/task_pool.h"

#include <utility>

namespace drapps {

void TaskPool::add() {
  free_tasks_.reserve(tasks_.size() + 1);
  tasks_.push_back(std::make_unique<SampleTask>(ledger_));
  free_tasks_.push_back(tasks_.back().get());
}

SampleTask& TaskPool::take() noexcept {
  SampleTask* const task = free_tasks_.back();
  free_tasks_.pop_back();
  return *task;
}

void TaskPool::lend_workspace(SampleTask& task) noexcept {
  if (free_workspaces_.empty()) return;
  task.sample.workspace = free_workspaces_.back();
  free_workspaces_.pop_back();
}

void TaskPool::add_workspace(SampleTask& task, Workspace&& workspace) {
  free_workspaces_.reserve(workspaces_.size() + 1);
  workspaces_.push_back(std::make_unique<Workspace>(std::move(workspace)));
  task.sample.workspace = workspaces_.back().get();
}

void TaskPool::return_workspace(SampleTask& task) noexcept {
  if (task.sample.workspace == nullptr) return;
  free_workspaces_.push_back(std::exchange(task.sample.workspace, nullptr));
}

void TaskPool::free_memory() noexcept {
  for (Workspace* workspace : free_workspaces_) workspace->reset();
  for (SampleTask* task : free_tasks_) {
    for (Buffer& buffer : task->buffers) buffer.reset();
  }
}

}  // namespace drapps
