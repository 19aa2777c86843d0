// The control plane of a loader that runs Python code in worker processes, and its plant.
//
//   auto control = ProcessControl::make({.name = "trials"});
//   (*control)->attach(board, processes);
//   (*control)->begin_pass(epoch);
//   (*control)->detach(*board);
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "drapps/base/per_process.h"
#include "drapps/control/control.h"
#include "drapps/control/process_plant.h"
#include "drapps/policy/config.h"

namespace drapps {

/// One for the life of a loader. A child of fork() goes on with its policy, and with a plant of the child's own.
class ProcessControl {
 public:
  /// kInvalidArgument where there is no such policy, or it does not take what the config gives.
  static Result<std::unique_ptr<ProcessControl>> make(const PolicyConfig& policy);

  /// Decides from here until detach(). Of several boards the latest one counts.
  void attach(const std::shared_ptr<Board>& board, std::int32_t processes);
  void detach(const Board& board);
  /// A pass begins in the board's processes.
  void begin_pass(std::uint32_t epoch);
  /// For the log: something happened that moved no knob.
  void remark(const std::string& why, const std::string& more);

  /// All that was counted so far, see plant_stats.h; and "machine": see meters.h.
  nlohmann::json stats();

  /// Policy, decisions, and what stops and records them.
  Control& control() noexcept { return control_; }
  /// This process's.
  ProcessPlant& plant();

 private:
  explicit ProcessControl(const PolicyConfig& policy) : control_(policy) { plant(); }

  Control control_;
  PerProcess<std::shared_ptr<ProcessPlant>> plant_;
};

}  // namespace drapps
