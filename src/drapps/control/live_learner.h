// A learned policy that goes on learning where it runs: what it learns from, what it may take, and what becomes of it.
//
// 1. A step, from one decision to the next, counts where the policy was asked and nothing interfered: no fault of an
//    observation, no knob held by a budget, no probe of its own judge or of another loader's, no settings of its
//    fallback, no pause between passes.
// 2. So many steps are an update (rl/fine_tuner.h): of the critic first, then of the actor's last layer, held by the
//    policy that was given. A published design learns with all of its network, from its paper's reward. The best rate,
//    which DRAPPS's own reward asks for, is one that a twentieth of the latest steps exceed.
// 3. It works in pieces of about a millisecond, one a tick, and never has had more than 1 % of a core since it began.
// 4. New weights take the place of the policy's, which remembers what it did. Where the judge finds the policy no
//    slower than the best settings known, with weights that have been in force for a minute, they are kept. Where it
//    throws the policy out, the weights that were kept last come back; where those were in force themselves, the given
//    ones come back, and those are kept no longer.
//
// Whatever goes wrong here, the policy goes on with the weights that it has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "drapps/base/result.h"
#include "drapps/policy/config.h"
#include "drapps/policy/decider.h"
#include "drapps/policy/learned.h"
#include "drapps/policy/stretch.h"
#include "drapps/policy/weights_file.h"
#include "drapps/rl/fine_tuner.h"

namespace drapps {

struct LiveOptions {
  std::size_t steps = 128;                         // of an update
  std::uint64_t proven_ns = 60'000'000'000;        // that weights must have been in force before they are kept
  double most_core = 0.01;                         // share of a core that learning may take
  std::optional<rl::FineTuneOptions> fine_tune{};  // as the policy's name says where absent
};

/// Every member may be called from any thread.
class LiveLearner {
 public:
  /// Reads what was kept. kInvalidArgument where the config has no weights that learn.
  static Result<std::shared_ptr<LiveLearner>> make(const PolicyConfig& config, const LiveOptions& options = {});

  /// The weights with which the policy is to begin: those that were kept last, or the given ones.
  std::vector<std::byte> weights() const;

  /// A decision was made.
  /// @param before  the policy's state before it.
  /// @param by      who has decided.
  void decided(const Observation& seen, const PolicyState& before, const Decision& decision, const Decider& by);

  /// Does a piece of work, where the time by the plant's clock allows one. Gives other weights that are to be the
  /// policy's from here on; empty where the policy goes on as it is.
  std::vector<std::byte> go_on(std::uint64_t now_ns);

  /// Keeps what is to be kept; waits for files. An error is told once, and in to_json(): learning goes on.
  Status keep();
  /// What there is to say of it, for explain(); empty where nothing has happened since it was asked.
  std::string take_remark();

  /// {"steps", "left_out": {"fault", "budget", "probe", "fallback", "pause", "learning"}, "updates", "explained",
  ///  "away", "renewals", "rollbacks", "kept", "cpu_s", "core_share", "weights", "given", "folder", "trouble"}
  nlohmann::json to_json() const;

 private:
  enum class LeftOut : std::uint8_t { kFault, kBudget, kProbe, kFallback, kPause, kLearning };
  static constexpr std::size_t kLeftOut = 6;
  static constexpr std::size_t kRates = 512;  // of the latest steps

  /// A decision, of which it is not yet known what comes of it.
  struct Pending {
    DecisionPoint point;
    std::unique_ptr<LearnedLook> look;
    std::optional<LeftOut> left_out;  // why nothing can be learnt from it
  };

  LiveLearner(const PolicyConfig& config, LearnedNetwork network, const LiveOptions& options);
  void add(const Stretch& stretch, const LearnedLook& next);
  void take_verdict(Judge::Verdict verdict, std::uint64_t now_ns);
  void begin_update();
  void end_update(const rl::FineTuned& tuned);
  void forget_steps();
  /// Lets other weights take the place of those in force, as soon as nothing is probed.
  void renew(std::vector<std::byte> weights);

  const LiveOptions options_;
  const std::string name_;
  const Reward reward_;
  const std::vector<std::byte> given_;
  const std::optional<KeptWeights> folder_;

  mutable std::mutex mutex_;  // guards all below
  LearnedNetwork network_;    // as it acts
  rl::FineTuner tuner_;
  std::vector<std::byte> weights_, kept_;  // in force, and those that the judge has upheld last
  std::uint64_t renewed_ns_ = 0;
  std::vector<std::byte> next_;  // to be in force, as soon as nothing is probed
  bool probed_ = false;
  std::optional<Pending> pending_;
  rl::Transitions<float> steps_;
  std::vector<Stretch> stretches_;  // of the steps
  std::vector<double> rates_;
  std::size_t rate_at_ = 0;
  std::vector<std::byte> to_keep_;
  std::string to_withdraw_;

  std::uint64_t began_ns_ = 0, now_ns_ = 0, seen_ns_ = 0;  // by the plant's clock
  std::uint64_t spent_ns_ = 0, longest_ns_ = 0;            // of a core, in all and in a piece
  std::uint64_t learnt_from_ = 0, updates_ = 0, renewals_ = 0, rollbacks_ = 0, keeps_ = 0;
  std::array<std::uint64_t, kLeftOut> left_out_{};
  rl::FineTuned tuned_;
  std::string remark_, trouble_;
};

}  // namespace drapps
