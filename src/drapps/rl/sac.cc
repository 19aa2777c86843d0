#include "drapps/rl/sac.h"

#include <algorithm>
#include <cmath>

#include "drapps/base/exact_math.h"

namespace drapps::rl {
namespace {

/// What critics take: states with shares behind them.
template <class T>
void join(std::span<const T> inputs, std::size_t rows, std::span<const T> shares, std::vector<T>& into) {
  const std::size_t wide = inputs.size() / rows;
  const std::size_t more = shares.size() / rows;
  into.resize(rows * (wide + more));
  for (std::size_t row = 0; row < rows; ++row) {
    T* at = std::copy_n(inputs.data() + row * wide, wide, into.data() + row * (wide + more));
    std::copy_n(shares.data() + row * more, more, at);
  }
}

/// The shares of the actions of a batch.
template <class T>
void shares_of(const ActionValues& values, const Transitions<T>& batch, std::vector<T>& into) {
  into.clear();
  for (std::size_t row = 0; row < batch.rows; ++row) {
    const T* action = batch.actions.data() + row * values.heads().values();
    values.each([&](const Head& head, std::size_t, std::size_t value, std::size_t) {
      if (head.kind != HeadKind::kChoice) into.insert(into.end(), action + value, action + value + head.values());
    });
  }
}

/// Draws the shares of all rows, and leaves what they have of the entropy.
template <class T>
void draw_shares(const SacNets<T>& nets, std::span<const T> outputs, std::size_t rows, SacScratch<T>& scratch) {
  scratch.shares.resize(rows * nets.values.shares());
  scratch.share_entropies.assign(rows, 0);
  for (std::size_t row = 0; row < rows; ++row) {
    const T* own = outputs.data() + row * nets.values.heads().outputs();
    const T* noise = scratch.noise.data() + row * nets.noises;
    T* shares = scratch.shares.data() + row * nets.values.shares();
    for (const auto& each : nets.shares) {
      scratch.share_entropies[row] += each.head.draw(own + each.output, noise + each.noise, shares + each.share);
    }
  }
}

/// E_π Q over the choices of one row.
template <class T>
double mean_worth(const ActionValues& values, const T* outputs, const std::uint8_t* mask, const T* worth) noexcept {
  if (values.shares() == values.heads().values()) return static_cast<double>(worth[0]);
  double sum = 0;
  values.each([&](const Head& head, std::size_t output, std::size_t, std::size_t at) {
    if (head.kind != HeadKind::kChoice) return;
    const Probabilities shares = probabilities(outputs + output, mask + output, head.size);
    for (std::size_t i = 0; i < head.size; ++i) sum += shares[i] * static_cast<double>(worth[at + i]);
  });
  return sum;
}

/// H of the choices of one row, and H*.
template <class T>
std::pair<double, double> choice_entropy(const ActionValues& values, const T* outputs, const std::uint8_t* mask,
                                         double undecided) noexcept {
  double sum = 0, wanted = 0;
  values.each([&](const Head& head, std::size_t output, std::size_t, std::size_t) {
    if (head.kind != HeadKind::kChoice) return;
    sum += entropy_of(probabilities(outputs + output, mask + output, head.size), head.size);
    const auto allowed = std::count_if(mask + output, mask + output + head.size, [](auto one) { return one != 0; });
    wanted += undecided * exact::log(static_cast<double>(allowed));
  });
  return {sum, wanted};
}

}  // namespace

template <class T>
SacNets<T>::SacNets(const Heads& heads, std::size_t inputs, std::size_t hidden)
    : values(heads), actor({inputs, hidden, hidden, heads.outputs()}) {
  std::size_t share = 0;
  values.each([&](const Head& head, std::size_t output, std::size_t, std::size_t) {
    if (head.kind == HeadKind::kChoice) return;
    shares.push_back({ShareHead(head), output, noises, share});
    noises += shares.back().head.noises();
    share += head.values();
    wanted_of_shares += shares.back().head.wanted();
  });
  critics.fill(Mlp<T>({inputs + values.shares(), hidden, hidden, values.outputs()}));
  slow = critics;
}

template <class T>
std::vector<T> sac_targets(const SacNets<T>& nets, const Transitions<T>& batch, double alpha, double gamma,
                           SacScratch<T>& scratch) {
  const ActionValues& values = nets.values;
  const std::span<const T> outputs = nets.actor.forward(batch.next_inputs.data(), batch.rows, scratch.actor_pass);
  draw_shares(nets, outputs, batch.rows, scratch);
  join<T>(batch.next_inputs, batch.rows, scratch.shares, scratch.taken);
  std::array<std::span<const T>, 2> worth;
  for (std::size_t i = 0; i < 2; ++i) {
    worth[i] = nets.slow[i].forward(scratch.taken.data(), batch.rows, scratch.critic_pass[i]);
  }
  std::vector<T> targets(batch.rows);
  for (std::size_t row = 0; row < batch.rows; ++row) {
    const T* own = outputs.data() + row * values.heads().outputs();
    const std::uint8_t* mask = batch.next_masks.data() + row * values.heads().outputs();
    double later = 0;
    if (batch.ended[row] == 0) {
      const auto of = [&](std::size_t i) {
        return mean_worth(values, own, mask, worth[i].data() + row * values.outputs());
      };
      const double entropy = choice_entropy(values, own, mask, 0).first + scratch.share_entropies[row];
      later = std::min(of(0), of(1)) + alpha * entropy;
    }
    targets[row] = static_cast<T>(static_cast<double>(batch.rewards[row]) + gamma * later);
  }
  return targets;
}

template <class T>
double sac_critic_loss(const SacNets<T>& nets, const Mlp<T>& critic, const Transitions<T>& batch,
                       std::span<const T> targets, std::span<T> gradient, SacScratch<T>& scratch) {
  const ActionValues& values = nets.values;
  shares_of(values, batch, scratch.shares);
  join<T>(batch.inputs, batch.rows, scratch.shares, scratch.taken);
  const std::span<const T> worth = critic.forward(scratch.taken.data(), batch.rows, scratch.critic_pass[0]);
  scratch.by_worth.assign(worth.size(), T{0});
  const double share = 1 / static_cast<double>(batch.rows);
  double loss = 0;
  for (std::size_t row = 0; row < batch.rows; ++row) {
    const T* action = batch.actions.data() + row * values.heads().values();
    const double error = values.of(worth.data() + row * values.outputs(), action) - static_cast<double>(targets[row]);
    loss += share * 0.5 * error * error;
    values.add_gradient(action, share * error, scratch.by_worth.data() + row * values.outputs());
  }
  critic.backward(scratch.by_worth.data(), scratch.critic_pass[0], gradient);
  return loss;
}

template <class T>
double sac_actor_loss(const SacNets<T>& nets, const Transitions<T>& batch, double alpha, double undecided,
                      std::span<T> gradient, SacScratch<T>& scratch) {
  const ActionValues& values = nets.values;
  const std::size_t wide = nets.actor.inputs();
  const std::size_t count = values.shares();
  const std::span<const T> outputs = nets.actor.forward(batch.inputs.data(), batch.rows, scratch.actor_pass);
  draw_shares(nets, outputs, batch.rows, scratch);
  join<T>(batch.inputs, batch.rows, scratch.shares, scratch.taken);
  std::array<std::span<const T>, 2> worth;
  for (std::size_t i = 0; i < 2; ++i) {
    worth[i] = nets.critics[i].forward(scratch.taken.data(), batch.rows, scratch.critic_pass[i]);
  }
  scratch.by_outputs.assign(outputs.size(), T{0});
  scratch.entropies.resize(batch.rows);
  scratch.wanted.resize(batch.rows);
  std::array<std::vector<T>, 2> by_worth{std::vector<T>(worth[0].size()), std::vector<T>(worth[1].size())};
  const double part = 1 / static_cast<double>(batch.rows);
  const bool choices = count != values.heads().values();
  double loss = 0;
  for (std::size_t row = 0; row < batch.rows; ++row) {
    const T* own = outputs.data() + row * values.heads().outputs();
    const std::uint8_t* mask = batch.masks.data() + row * values.heads().outputs();
    T* by_own = scratch.by_outputs.data() + row * values.heads().outputs();
    const std::array<double, 2> of{mean_worth(values, own, mask, worth[0].data() + row * values.outputs()),
                                   mean_worth(values, own, mask, worth[1].data() + row * values.outputs())};
    const std::size_t lower = of[1] < of[0] ? 1 : 0;
    const T* believed = worth[lower].data() + row * values.outputs();
    T* by_believed = by_worth[lower].data() + row * values.outputs();
    const auto [entropy, wanted] = choice_entropy(values, own, mask, undecided);
    scratch.entropies[row] = entropy + scratch.share_entropies[row];
    scratch.wanted[row] = wanted + nets.wanted_of_shares;
    loss += part * (-alpha * scratch.entropies[row] - of[lower]);
    if (!choices) by_believed[0] = static_cast<T>(-part);
    values.each([&](const Head& head, std::size_t output, std::size_t, std::size_t at) {
      if (head.kind != HeadKind::kChoice) return;
      const Probabilities shares = probabilities(own + output, mask + output, head.size);
      double mean = 0;
      for (std::size_t i = 0; i < head.size; ++i) mean += shares[i] * static_cast<double>(believed[at + i]);
      const double spread = entropy_of(shares, head.size);
      for (std::size_t i = 0; i < head.size; ++i) {
        if (shares[i] <= 0) continue;
        const double better = static_cast<double>(believed[at + i]) - mean;
        by_own[output + i] = static_cast<T>(part * shares[i] * (alpha * (exact::log(shares[i]) + spread) - better));
        by_believed[at + i] = static_cast<T>(-part * shares[i]);
      }
    });
  }
  if (count > 0) {
    std::vector<T> by_taken(batch.rows * (wide + count)), more(by_taken.size());
    nets.critics[0].backward(by_worth[0].data(), scratch.critic_pass[0], {}, by_taken.data());
    nets.critics[1].backward(by_worth[1].data(), scratch.critic_pass[1], {}, more.data());
    for (std::size_t row = 0; row < batch.rows; ++row) {
      const T* own = outputs.data() + row * values.heads().outputs();
      T* by_own = scratch.by_outputs.data() + row * values.heads().outputs();
      std::array<double, kMostChoices> by{};
      for (const auto& each : nets.shares) {
        const std::size_t at = row * (wide + count) + wide + each.share;
        for (std::size_t i = 0; i < each.head.head().values(); ++i) {
          by[i] = static_cast<double>(by_taken[at + i]) + static_cast<double>(more[at + i]);
        }
        const T* noise = scratch.noise.data() + row * nets.noises + each.noise;
        each.head.gradient(own + each.output, noise, by.data(), -part * alpha, by_own + each.output);
      }
    }
  }
  nets.actor.backward(scratch.by_outputs.data(), scratch.actor_pass, gradient);
  return loss;
}

template struct SacNets<float>;
template struct SacNets<double>;
#define DRAPPS_SAC_OF(T)                                                                                         \
  template std::vector<T> sac_targets(const SacNets<T>&, const Transitions<T>&, double, double, SacScratch<T>&); \
  template double sac_critic_loss(const SacNets<T>&, const Mlp<T>&, const Transitions<T>&, std::span<const T>,   \
                                  std::span<T>, SacScratch<T>&);                                                 \
  template double sac_actor_loss(const SacNets<T>&, const Transitions<T>&, double, double, std::span<T>,         \
                                 SacScratch<T>&);
DRAPPS_SAC_OF(float)
DRAPPS_SAC_OF(double)
#undef DRAPPS_SAC_OF

Sac::Sac(SacNets<float> nets, const SacOptions& options)
    : nets_(std::move(nets)),
      options_(options),
      log_alpha_(static_cast<float>(std::log(options.first_alpha))),
      actor_steps_(nets_.actor.parameters().size()) {
  critic_steps_.fill(Adam<float>(nets_.critics[0].parameters().size()));
}

SacLosses Sac::update(const Transitions<float>& batch, Random& random) {
  SacLosses losses;
  const double alpha = exact::exp(static_cast<double>(log_alpha_));
  const auto draw = [&] {
    scratch_.noise.resize(batch.rows * nets_.noises);
    for (float& each : scratch_.noise) each = static_cast<float>(random.normal());
  };
  draw();
  const std::vector<float> targets = sac_targets(nets_, batch, alpha, options_.gamma, scratch_);
  for (std::size_t i = 0; i < 2; ++i) {
    Mlp<float>& critic = nets_.critics[i];
    gradient_.assign(critic.parameters().size(), 0);
    losses.critic += 0.5 * sac_critic_loss<float>(nets_, critic, batch, targets, gradient_, scratch_);
    cut_norm(std::span(gradient_), options_.norm);
    critic_steps_[i].step(critic.parameters(), gradient_, options_.rate);
  }
  draw();
  gradient_.assign(nets_.actor.parameters().size(), 0);
  losses.actor = sac_actor_loss<float>(nets_, batch, alpha, options_.undecided, gradient_, scratch_);
  cut_norm(std::span(gradient_), options_.norm);
  actor_steps_.step(nets_.actor.parameters(), gradient_, options_.rate);
  double over = 0;
  for (std::size_t row = 0; row < batch.rows; ++row) {
    losses.entropy += scratch_.entropies[row] / static_cast<double>(batch.rows);
    over += (scratch_.entropies[row] - scratch_.wanted[row]) / static_cast<double>(batch.rows);
  }
  const auto by_alpha = static_cast<float>(alpha * over);
  alpha_steps_.step(std::span(&log_alpha_, 1), std::span(&by_alpha, 1), options_.rate);
  losses.alpha = alpha;
  for (std::size_t i = 0; i < 2; ++i) {
    const std::span<const float> fast = std::as_const(nets_.critics[i]).parameters();
    const std::span<float> slow = nets_.slow[i].parameters();
    const auto share = static_cast<float>(options_.follow);
    for (std::size_t k = 0; k < slow.size(); ++k) slow[k] += share * (fast[k] - slow[k]);
  }
  return losses;
}

}  // namespace drapps::rl
