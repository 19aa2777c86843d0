#include "drapps/control/live_learner.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "drapps/base/clock.h"
#include "drapps/plant/knob_range.h"
#include "drapps/policy/published.h"

namespace drapps {
namespace {

rl::FineTuneOptions tuning_of(std::string_view name) {
  return published_shape(name) ? rl::plain_ppo() : rl::FineTuneOptions{};
}

/// Adds what a scope has taken of the thread's time to a sum.
class Spends {
 public:
  explicit Spends(std::uint64_t& sum) noexcept : sum_(sum) {}
  ~Spends() { sum_ += taken(); }
  Spends(const Spends&) = delete;
  Spends& operator=(const Spends&) = delete;
  std::uint64_t taken() const noexcept { return thread_cpu_ns() - began_; }

 private:
  std::uint64_t& sum_;
  std::uint64_t began_ = thread_cpu_ns();
};

std::string short_hash(std::span<const std::byte> weights) { return weights_hash(weights).substr(0, 8); }

}  // namespace

Result<std::shared_ptr<LiveLearner>> LiveLearner::make(const PolicyConfig& config, const LiveOptions& options) {
  auto network = network_from_bytes(config.weights);
  if (!network.ok()) return std::move(network).error();
  return std::shared_ptr<LiveLearner>(new LiveLearner(config, *std::move(network), options));
}

LiveLearner::LiveLearner(const PolicyConfig& config, LearnedNetwork network, const LiveOptions& options)
    : options_(options),
      name_(config.name),
      reward_(reward_named(config.name).value_or(Reward{})),
      given_(config.weights),
      folder_(config.keep_in.empty() ? std::nullopt
                                     : std::optional(KeptWeights(config.keep_in + "/" + weights_hash(given_)))),
      network_(std::move(network)),
      tuner_(network_.moves.heads(), network_.actor, options.fine_tune.value_or(tuning_of(config.name))),
      weights_(given_),
      kept_(given_) {
  if (!folder_) return;
  const std::vector<std::byte> latest = folder_->latest();
  const auto read = network_from_bytes(latest);
  // What another version of the same policy has left is nothing of this one's.
  if (!read.ok() || read->actor.sizes() != network_.actor.sizes()) return;
  if (with_parameters(given_, read->actor.parameters()) != latest) return;
  weights_ = kept_ = latest;
  network_.actor = read->actor;
  tuner_.set_actor(network_.actor.parameters());
}

std::vector<std::byte> LiveLearner::weights() const {
  const std::lock_guard lock(mutex_);
  return weights_;
}

void LiveLearner::decided(const Observation& seen, const PolicyState& before, const Decision& decision,
                          const Decider& by) {
  const std::lock_guard lock(mutex_);
  const Spends spends(spent_ns_);
  if (began_ns_ == 0) began_ns_ = now_ns_ = decision.guard_ns;
  Pending now{.point = {.seen = seen, .limits = by.limits(), .applied = decision.applied},
              .look = std::make_unique<LearnedLook>(),
              .left_out = {}};
  auto memory = before.load<LearnedMemory>();
  look(network_, seen, by.limits(), /*draws=*/true, memory, *now.look);
  const bool held = decision.weights_hold == Hold::kBudget ||
                    fit_settings(decision.before, by.limits()) != decision.before ||
                    std::ranges::find(decision.holds, Hold::kBudget) != decision.holds.end();
  const bool fallback =
      network_.left_to_base(by.limits()) || fallen_back(network_, seen, by.limits(), memory).has_value();
  const bool probe = !by.asked() || seen.turn == Turn::kTaken;
  if (seen.time_ns == 0 || decision.signals != Hold::kNone) {
    now.left_out = LeftOut::kFault;
    now.point.sound = false;
  } else if (probe) {
    now.left_out = LeftOut::kProbe;
  } else if (fallback) {
    now.left_out = LeftOut::kFallback;
  } else if (held) {
    now.left_out = LeftOut::kBudget;
  } else if (tuner_.busy() || !next_.empty()) {
    now.left_out = LeftOut::kLearning;
  }
  if (pending_) {
    std::optional<LeftOut> why = pending_->left_out;
    std::optional<Stretch> stretch;
    if (!why && seen.turn == Turn::kTaken) why = LeftOut::kProbe;
    if (!why && !now.point.sound) why = LeftOut::kFault;
    if (!why) {
      stretch = stretch_between(pending_->point, now.point);
      if (!stretch) why = LeftOut::kPause;
    }
    if (stretch) {
      add(*stretch, *now.look);
    } else {
      ++left_out_[static_cast<std::size_t>(*why)];
      if (steps_.rows > 0) steps_.ended.back() = 1;
    }
  }
  pending_ = std::move(now);
  probed_ = by.probed();
  seen_ns_ = seen.time_ns;
  take_verdict(by.verdict(), seen.time_ns);
  if (steps_.rows >= options_.steps && !tuner_.busy() && next_.empty()) begin_update();
}

void LiveLearner::add(const Stretch& stretch, const LearnedLook& next) {
  const LearnedLook& own = *pending_->look;
  const auto put = [](auto& into, const auto& from, std::size_t count) {
    into.insert(into.end(), from.begin(), from.begin() + static_cast<std::ptrdiff_t>(count));
  };
  const rl::Heads& heads = network_.moves.heads();
  put(steps_.inputs, own.inputs, network_.inputs.size());
  put(steps_.masks, own.mask, heads.outputs());
  put(steps_.actions, own.action, heads.values());
  put(steps_.next_inputs, next.inputs, network_.inputs.size());
  steps_.ended.push_back(0);
  ++steps_.rows;
  stretches_.push_back(stretch);
  if (rates_.size() < kRates) {
    rates_.push_back(stretch.rate);
  } else {
    rates_[rate_at_++ % kRates] = stretch.rate;
  }
}

void LiveLearner::take_verdict(Judge::Verdict verdict, std::uint64_t now_ns) {
  if (renewed_ns_ == 0) renewed_ns_ = now_ns;
  if (verdict == Judge::Verdict::kUpheld) {
    const bool proven = now_ns >= renewed_ns_ && now_ns - renewed_ns_ >= options_.proven_ns;
    if (!proven || weights_ == kept_) return;
    kept_ = weights_;
    if (folder_) to_keep_ = weights_;
    return;
  }
  if (verdict != Judge::Verdict::kBeaten) return;
  forget_steps();
  next_.clear();
  if (weights_ == given_) return;
  if (weights_ == kept_) {
    to_withdraw_ = weights_hash(kept_);
    kept_ = given_;
  }
  ++rollbacks_;
  remark_ = "learning: weights " + short_hash(weights_) + " are taken back, the judge has thrown the policy out; " +
            short_hash(kept_) + (kept_ == given_ ? ", the given ones," : "") + " are in force again";
  renew(kept_);
}

void LiveLearner::renew(std::vector<std::byte> weights) {
  const auto network = network_from_bytes(weights);
  tuner_.set_actor(network->actor.parameters());
  next_ = std::move(weights);
}

void LiveLearner::forget_steps() {
  steps_ = {};
  stretches_.clear();
  pending_.reset();
}

void LiveLearner::begin_update() {
  const double best = best_rate_of(rates_);
  for (Stretch& stretch : stretches_) {
    stretch.best = best;
    steps_.rewards.push_back(static_cast<float>(reward_of(reward_, stretch)));
  }
  steps_.ended.back() = 1;
  learnt_from_ += steps_.rows;
  tuner_.begin(steps_);
  steps_ = {};
  stretches_.clear();
}

void LiveLearner::end_update(const rl::FineTuned& tuned) {
  ++updates_;
  tuned_ = tuned;
  if (!tuned.acted) return;
  std::vector<std::byte> weights = with_parameters(given_, tuner_.actor().parameters());
  if (!network_from_bytes(weights).ok()) {  // no numbers, or too large
    trouble_ = "an update has led to weights that are none, and was undone";
    tuner_.set_actor(network_.actor.parameters());
    return;
  }
  next_ = std::move(weights);
}

std::vector<std::byte> LiveLearner::go_on(std::uint64_t now_ns) {
  const std::lock_guard lock(mutex_);
  if (began_ns_ != 0) now_ns_ = std::max(now_ns_, now_ns);
  if (!next_.empty()) {
    if (probed_) return {};
    weights_ = std::exchange(next_, {});
    network_.actor = network_from_bytes(weights_)->actor;
    renewed_ns_ = seen_ns_;
    pending_.reset();
    ++renewals_;
    if (remark_.empty()) remark_ = "learning: weights " + short_hash(weights_) + " are in force from here on";
    return weights_;
  }
  if (!tuner_.busy()) return {};
  const double earned = options_.most_core * static_cast<double>(now_ns_ - began_ns_);
  if (static_cast<double>(spent_ns_ + longest_ns_) > earned) return {};
  const std::uint64_t before = spent_ns_;
  {
    const Spends spends(spent_ns_);
    if (const auto tuned = tuner_.go_on()) end_update(*tuned);
  }
  longest_ns_ = std::max(longest_ns_, spent_ns_ - before);
  return {};
}

Status LiveLearner::keep() {
  std::vector<std::byte> weights;
  std::string withdrawn;
  {
    const std::lock_guard lock(mutex_);
    weights.swap(to_keep_);
    withdrawn.swap(to_withdraw_);
  }
  if (!folder_) return ok_status();
  if (!withdrawn.empty()) folder_->withdraw(withdrawn);
  if (weights.empty()) return ok_status();
  Status kept = folder_->keep(weights);
  const std::lock_guard lock(mutex_);
  if (kept.ok()) {
    ++keeps_;
    trouble_.clear();
  } else {
    trouble_ = "what was learnt could not be kept: " + kept.error().to_string();
  }
  return kept;
}

std::string LiveLearner::take_remark() {
  const std::lock_guard lock(mutex_);
  return std::exchange(remark_, {});
}

nlohmann::json LiveLearner::to_json() const {
  const std::lock_guard lock(mutex_);
  constexpr std::array<const char*, kLeftOut> kNames{"fault", "budget", "probe", "fallback", "pause", "learning"};
  nlohmann::json left_out = nlohmann::json::object();
  for (std::size_t i = 0; i < kLeftOut; ++i) left_out[kNames[i]] = left_out_[i];
  const auto passed = static_cast<double>(now_ns_ - began_ns_);
  return {{"steps", learnt_from_ + steps_.rows},
          {"left_out", std::move(left_out)},
          {"updates", updates_},
          {"explained", updates_ > 0 ? nlohmann::json(tuned_.explained) : nlohmann::json()},
          {"away", tuned_.acted ? nlohmann::json(tuned_.losses.away) : nlohmann::json()},
          {"renewals", renewals_},
          {"rollbacks", rollbacks_},
          {"kept", keeps_},
          {"cpu_s", static_cast<double>(spent_ns_) * 1e-9},
          {"core_share", passed > 0 ? static_cast<double>(spent_ns_) / passed : 0},
          {"weights", weights_hash(weights_)},
          {"given", weights_hash(given_)},
          {"folder", folder_ ? nlohmann::json(folder_->folder()) : nlohmann::json()},
          {"trouble", trouble_.empty() ? nlohmann::json() : nlohmann::json(trouble_)}};
}

}  // namespace drapps
