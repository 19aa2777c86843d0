// The control plane of a loader that runs Python code in worker processes: its plant, and the client that decides.
#pragma once

#include <sys/types.h>

#include <memory>
#include <nlohmann/json_fwd.hpp>

#include "drapps/control/client.h"
#include "drapps/control/process_plant.h"
#include "drapps/control/recording.h"
#include "drapps/policy/config.h"

namespace drapps {

/// One for the life of a loader, in the process that made it. There its destruction waits for nothing; elsewhere it
/// does nothing.
class ProcessControl {
 public:
  /// kInvalidArgument where there is no such policy, or it does not take what the config gives.
  static Result<std::unique_ptr<ProcessControl>> make(const PolicyConfig& policy);
  ~ProcessControl();
  ProcessControl(const ProcessControl&) = delete;
  ProcessControl& operator=(const ProcessControl&) = delete;

  /// Decides from here until detach(). Of several boards the latest one counts.
  void attach(const std::shared_ptr<Board>& board, std::int32_t processes);
  void detach(const Board& board);

  /// Another policy from here on. kInvalidArgument where it cannot be made: the old one goes on.
  Status set_policy(const PolicyConfig& policy);

  /// All that was counted so far, see plant_stats.h; and "machine": see meters.h.
  nlohmann::json stats() const;

  /// As Loader::record(), stop_recording() and take_warning(); nothing in another process than its maker's.
  /// @param about  JSON of who records: {"plan": …}.
  Status record(const std::string& path, std::string_view about);
  void stop_recording();
  std::string take_warning();

  ProcessPlant& plant() noexcept { return *plant_; }
  Client& client() noexcept { return *client_; }

 private:
  ProcessControl(std::unique_ptr<const Policy> policy, const PolicyConfig& config);

  const pid_t maker_;
  std::shared_ptr<ProcessPlant> plant_;
  std::shared_ptr<Client> client_;
  std::shared_ptr<Recording> recording_;
};

}  // namespace drapps
