#include "drapps/control/process_control.h"

#include <unistd.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "drapps/base/caught.h"
#include "drapps/base/clock.h"
#include "drapps/base/process_local.h"
#include "drapps/control/controller.h"
#include "drapps/plant/schema.h"
#include "drapps/policy/registry.h"

namespace drapps {

ProcessControl::ProcessControl(std::unique_ptr<const Policy> policy, const PolicyConfig& config)
    : maker_(getpid()),
      plant_(std::make_shared<ProcessPlant>(Engine::get())),
      client_(
          std::make_shared<Client>(plant_, std::move(policy), &Shares::of_process(), config, &Meters::of_process())),
      recording_(std::make_shared<Recording>()) {}

Result<std::unique_ptr<ProcessControl>> ProcessControl::make(const PolicyConfig& policy) {
  auto made = make_policy(policy);
  if (!made.ok()) return std::move(made).error();
  return std::unique_ptr<ProcessControl>(new ProcessControl(*std::move(made), policy));
}

ProcessControl::~ProcessControl() {
  if (maker_ == getpid()) {
    recording_->end(nullptr);
    return;
  }
  // Another process's locks may be taken for ever: nothing of it is touched.
  abandon(std::move(client_));
  abandon(std::move(plant_));
  abandon(std::move(recording_));
}

Status ProcessControl::set_policy(const PolicyConfig& policy) {
  auto made = make_policy(policy);
  if (!made.ok()) return std::move(made).error();
  client_->swap(*std::move(made), policy);
  return ok_status();
}

nlohmann::json ProcessControl::stats() const {
  nlohmann::json root = to_json(plant_->stats(), kProcessKnobs);
  root["learning"] = client_->learning();
  root["machine"] = Meters::of_process().to_json(monotonic_ns());
  return root;
}

Status ProcessControl::record(const std::string& path, std::string_view about) {
  if (maker_ != getpid())
    return invalid("this loader belongs to process " + std::to_string(maker_) + ", which made it");
  return catching([&] { return recording_->begin(path, about, client_.get()); });
}

void ProcessControl::stop_recording() {
  if (maker_ == getpid()) recording_->end(client_.get());
}

std::string ProcessControl::take_warning() { return maker_ == getpid() ? recording_->take_warning() : std::string(); }

void ProcessControl::attach(const std::shared_ptr<Board>& board, std::int32_t processes) {
  plant_->attach(board, processes);
  Controller::of_process().add(client_);
}

void ProcessControl::detach(const Board& board) {
  plant_->detach(board);
  Controller::of_process().remove(client_);
  Meters::of_process().leave(client_.get());
}

}  // namespace drapps
