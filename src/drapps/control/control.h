// The control plane of one loader, as long as that lives: a policy over the plant of its passes, and the recording.
//
//   Control control({.name = "trials"});
//   control.begin(plant);  // the first pass: from now on there is a client, which decides as often as it is told to
//
// A child of fork() goes on with the policy and without a plant, a log or a recording, until it begins with its own.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "drapps/base/per_process.h"
#include "drapps/control/client.h"
#include "drapps/control/recording.h"
#include "drapps/plant/plant.h"
#include "drapps/policy/config.h"

namespace drapps {

/// All members may be called from any thread; after a fork, from the child's first one alone until begin() returned.
class Control {
 public:
  /// How a recording gets some of the samples that are made.
  struct SampleTap {
    std::function<void(bool on)> keep;  // from now on, or no more
    Recording::Samples take;
  };

  /// @param policy  that make_policy() takes.
  explicit Control(PolicyConfig policy) : policy_(std::move(policy)) { enter(); }
  ~Control();
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;

  /// Makes this process's own state; does nothing where there is one.
  void enter();
  /// The plant of all passes in this process, which had none: a client decides about it, once the controller has it.
  void begin(std::shared_ptr<Plant> plant, SampleTap sampling = {});
  /// That of this process; null before begin().
  std::shared_ptr<Client> client() const;

  /// Another policy from here on (Client::swap). kInvalidArgument where it cannot be made: the old one goes on.
  Status set_policy(PolicyConfig policy);
  /// No knob moves by itself, or some may again.
  void freeze(bool frozen);
  /// The decision log, and in it "learning"; an empty one before begin().
  nlohmann::json log() const;
  /// Client::learning(), or null before begin().
  nlohmann::json learning() const;

  /// Records every decision, and all that it depends on, into a new file (trace/format.h), until stop_recording() or
  /// the end: from now on, or from begin() on. kInvalidArgument where the file exists or a recording is under way,
  /// kNotFound, kPermission, kIo where it cannot be made.
  /// @param about  JSON of who records: {"plan": …}.
  Status record(const std::string& path, std::string_view about);
  /// Nothing where nothing is recorded.
  void stop_recording();
  /// Why a recording ended by itself, once; else empty.
  std::string take_warning() const;

 private:
  /// What one process has.
  struct ControlState {
    std::mutex mutex;  // guards all but the recording; and policy_ and frozen_, in this process
    std::shared_ptr<Client> client;
    SampleTap sampling;
    Recording recording;
  };

  /// A lock of this process's mutex, or of nothing where it has none.
  std::unique_lock<std::mutex> lock() const;

  PolicyConfig policy_;
  bool frozen_ = false;
  PerProcess<ControlState> own_;
};

}  // namespace drapps
