#include "drapps/control/process_control.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "drapps/base/clock.h"
#include "drapps/control/controller.h"
#include "drapps/plant/schema.h"
#include "drapps/policy/registry.h"

namespace drapps {

Result<std::unique_ptr<ProcessControl>> ProcessControl::make(const PolicyConfig& policy) {
  if (auto known = make_policy(policy); !known.ok()) return std::move(known).error();
  return std::unique_ptr<ProcessControl>(new ProcessControl(policy));
}

ProcessPlant& ProcessControl::plant() {
  if (const auto* plant = plant_.get()) return **plant;
  auto plant = std::make_shared<ProcessPlant>(Engine::get());
  control_.begin(plant);
  return *plant_.set(std::make_unique<std::shared_ptr<ProcessPlant>>(std::move(plant)));
}

void ProcessControl::attach(const std::shared_ptr<Board>& board, std::int32_t processes) {
  plant().attach(board, processes);
  Controller::of_process().add(control_.client());
}

void ProcessControl::detach(const Board& board) {
  plant().detach(board);
  const auto client = control_.client();
  Controller::of_process().remove(client);
  Meters::of_process().leave(client.get());
}

void ProcessControl::begin_pass(std::uint32_t epoch) {
  plant().begin_pass();
  control_.client()->begin_epoch(epoch);
}

void ProcessControl::remark(const std::string& why, const std::string& more) {
  plant();
  control_.client()->remark(why, more);
}

nlohmann::json ProcessControl::stats() {
  nlohmann::json root = to_json(plant().stats(), kProcessKnobs);
  root["learning"] = control_.learning();
  root["machine"] = Meters::of_process().to_json(monotonic_ns());
  return root;
}

}  // namespace drapps
