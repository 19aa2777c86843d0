#include "drapps/control/process_control.h"

#include <unistd.h>

#include <utility>

#include "drapps/base/process_local.h"
#include "drapps/control/controller.h"
#include "drapps/policy/registry.h"

namespace drapps {

ProcessControl::ProcessControl(std::unique_ptr<const Policy> policy)
    : maker_(getpid()),
      plant_(std::make_shared<ProcessPlant>(Engine::get())),
      client_(std::make_shared<Client>(plant_, std::move(policy), &Shares::of_process())) {}

Result<std::unique_ptr<ProcessControl>> ProcessControl::make(const PolicyConfig& policy) {
  auto made = make_policy(policy);
  if (!made.ok()) return std::move(made).error();
  return std::unique_ptr<ProcessControl>(new ProcessControl(*std::move(made)));
}

ProcessControl::~ProcessControl() {
  if (maker_ == getpid()) return;
  // Another process's locks may be taken for ever: nothing of it is touched.
  abandon(std::move(client_));
  abandon(std::move(plant_));
}

Status ProcessControl::set_policy(const PolicyConfig& policy) {
  auto made = make_policy(policy);
  if (!made.ok()) return std::move(made).error();
  client_->swap(*std::move(made));
  return ok_status();
}

void ProcessControl::attach(const std::shared_ptr<Board>& board, std::int32_t processes) {
  plant_->attach(board, processes);
  Controller::of_process().add(client_);
}

void ProcessControl::detach(const Board& board) {
  plant_->detach(board);
  Controller::of_process().remove(client_);
}

}  // namespace drapps
