// SAC in many environments at once: so many steps in each, then so many updates from what was done lately.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "drapps/rl/running_episode.h"
#include "drapps/rl/sac.h"
#include "drapps/rl/training.h"

namespace drapps::rl {

struct SacLearnerOptions {
  SacOptions sac;
  std::size_t hidden = 64;
  std::size_t environments = 64;
  std::size_t steps = 16;    // in each, between updates
  std::size_t updates = 64;  // after these steps
  std::size_t batch = 256;
  std::size_t kept = 65536;  // steps, of which the oldest give way
  std::uint64_t decisions = 500'000;
  std::uint64_t seed = 1;
};

class SacLearner final : public Training {
 public:
  using Make = std::function<std::unique_ptr<Environment>()>;

  SacLearner(const SacLearnerOptions& options, const Make& make);

  bool done() const noexcept override { return decisions_ >= options_.decisions; }
  const Mlp<float>& actor() const noexcept override { return sac_.nets().actor; }
  Mlp<float>& actor() noexcept override { return sac_.nets().actor; }
  const Heads& heads() const noexcept { return sac_.nets().values.heads(); }
  /// Steps in all environments, and updates.
  Progress go_on() override;
  std::vector<std::uint8_t> save() override;
  Status restore(std::span<const std::uint8_t> saved) override;

 private:
  template <class Visit>
  void visit_memory(const Visit& visit);
  void keep(std::span<const float> before, std::span<const std::uint8_t> mask, const float* action,
            const Outcome& outcome, const Environment& after);

  SacLearnerOptions options_;
  Random random_;
  Sac sac_;
  std::vector<RunningEpisode> episodes_;
  Transitions<float> kept_;      // `kept` rows, of which the first are in use
  std::uint64_t decisions_ = 0;  // the next one goes to row decisions_ % kept
  std::uint64_t drawn_ = 0;      // words of random_, where it is saved
};

}  // namespace drapps::rl
