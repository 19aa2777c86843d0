// An actor that is trained from recorded steps alone, in one of four ways (offline.h).
//
// Targets of critics are those of double Q-learning, from a critic that follows slowly: y = r + γ Q̄(s', c) where c is
// the best choice by the critic itself (CQL), the best supported one (BCQ), or all choices as likely as the actor finds
// them (cloning by advantage).
// Source of double Q-learning: H. van Hasselt, A. Guez, D. Silver, AAAI 2016.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "drapps/rl/adam.h"
#include "drapps/rl/offline.h"
#include "drapps/rl/training.h"

namespace drapps::rl {

enum class OfflineKind : std::uint8_t { kCloning, kAdvantage, kCql, kBcq };

/// "cloning", "awac", "cql" or "bcq"; nothing otherwise.
std::optional<OfflineKind> offline_kind_named(std::string_view name) noexcept;
std::string_view name_of(OfflineKind kind) noexcept;

struct OfflineOptions {
  OfflineKind kind = OfflineKind::kCql;
  double gamma = 0.9;
  double rate = 1e-3;
  double follow = 0.01;       // of the way that the slow critic goes at each update
  double conservative = 0.1;  // w of CQL
  double threshold = 0.3;     // t of BCQ
  double beta = 0.3;          // of the weights by advantage
  double norm = 5;            // of gradients, at most
  std::size_t hidden = 64;
  std::size_t batch = 256;
  std::size_t updates = 4096;
  std::size_t at_once = 64;  // updates of a go_on()
  std::uint64_t seed = 1;
};

class OfflineLearner final : public Training {
 public:
  /// @param heads  choices only. @param data  one row at least; stays as it is.
  OfflineLearner(const OfflineOptions& options, const Heads& heads, Transitions<float> data);

  bool done() const noexcept override { return updates_ >= options_.updates; }
  /// The actor that was learnt; of CQL that is the critic: the likeliest choice by its outputs is the best.
  const Mlp<float>& actor() const noexcept override { return options_.kind == OfflineKind::kCql ? critic_ : actor_; }
  Mlp<float>& actor() noexcept override { return options_.kind == OfflineKind::kCql ? critic_ : actor_; }
  const Heads& heads() const noexcept { return values_.heads(); }
  /// The largest value, without its sign, that the critic gives to what is in the data.
  double most_value() const;
  /// Decisions are rows that were learnt from.
  Progress go_on() override;
  std::vector<std::uint8_t> save() override;
  Status restore(std::span<const std::uint8_t> saved) override;

 private:
  struct Losses {
    double critic = 0, actor = 0;
  };
  template <class Visit>
  void visit_memory(const Visit& visit);
  Losses update(const Transitions<float>& batch);
  std::vector<float> targets_of(const Transitions<float>& batch);
  void learn_clone(Mlp<float>& net, Adam<float>& adam, const Transitions<float>& batch, std::span<const float> actions,
                   std::span<const float> weights, double& loss);

  OfflineOptions options_;
  Random random_;
  ActionValues values_;
  Transitions<float> data_;
  Mlp<float> critic_, slow_, actor_, clone_;
  Adam<float> critic_steps_, actor_steps_, clone_steps_;
  std::uint64_t updates_ = 0;
  std::uint64_t drawn_ = 0;  // words of random_, where it is saved
  std::vector<float> gradient_;
  Mlp<float>::MlpPass pass_, next_pass_, slow_pass_, clone_pass_;
};

}  // namespace drapps::rl
