#include "drapps/rl/heads.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <utility>

#include "drapps/base/exact_math.h"
#include "drapps/rl/gamma_function.h"

namespace drapps::rl {
namespace {

double log_of(double probability) noexcept { return exact::log(std::max(probability, 1e-300)); }

double softplus(double z) noexcept { return std::max(z, 0.0) + exact::log(1 + exact::exp(-std::abs(z))); }
double sigmoid(double z) noexcept { return 1 / (1 + exact::exp(-z)); }

/// What two outputs say of a deviate, and by how much its logarithm changes with the second one.
struct Deviate {
  double mean, log_deviation, slope;
};

template <class T>
Deviate deviate(const T* outputs) noexcept {
  const auto raw = static_cast<double>(outputs[1]);
  const double log_deviation = std::clamp(raw, kLeastLogDeviation, kMostLogDeviation);
  return {static_cast<double>(outputs[0]), log_deviation, log_deviation == raw ? 1.0 : 0.0};
}

/// How many standard deviations from its mean a deviate has given a share.
double off_mean(const Deviate& of, double share) noexcept {
  return (exact::log(share / (1 - share)) - of.mean) * exact::exp(-of.log_deviation);
}

struct Concentration {
  std::array<double, kMostChoices> each;
  double sum = 0;
};

template <class T>
Concentration concentration(const T* outputs, std::size_t size) noexcept {
  Concentration parameters;
  for (std::size_t i = 0; i < size; ++i) {
    parameters.each[i] = 1 + softplus(static_cast<double>(outputs[i]));
    parameters.sum += parameters.each[i];
  }
  return parameters;
}

/// Share i of an action: that of a Beta holds the first of two alone.
template <class T>
double share_of(const Head& head, const T* action, std::size_t i) noexcept {
  if (head.kind == HeadKind::kDirichlet) return static_cast<double>(action[i]);
  return i == 0 ? static_cast<double>(action[0]) : 1 - static_cast<double>(action[0]);
}

template <class T>
void put_shares(const Head& head, const std::array<double, kMostChoices>& shares, T* action) noexcept {
  for (std::size_t i = 0; i < head.values(); ++i) {
    action[i] = static_cast<T>(std::clamp(shares[i], kLeastShare, 1 - kLeastShare));
  }
}

}  // namespace

template <class T>
Probabilities probabilities(const T* logits, const std::uint8_t* mask, std::size_t size) noexcept {
  Probabilities shares;
  double most = -1e300;
  for (std::size_t i = 0; i < size; ++i) {
    if (mask[i] != 0) most = std::max(most, static_cast<double>(logits[i]));
  }
  double sum = 0;
  for (std::size_t i = 0; i < size; ++i) {
    shares[i] = mask[i] != 0 ? exact::exp(static_cast<double>(logits[i]) - most) : 0;
    sum += shares[i];
  }
  for (std::size_t i = 0; i < size; ++i) shares[i] /= sum;
  return shares;
}

double entropy_of(const Probabilities& shares, std::size_t size) noexcept {
  double entropy = 0;
  for (std::size_t i = 0; i < size; ++i) {
    if (shares[i] > 0) entropy -= shares[i] * log_of(shares[i]);
  }
  return entropy;
}

Heads::Heads(std::vector<Head> heads) : heads_(std::move(heads)) {
  for (const Head& head : heads_) {
    assert(head.size >= 1 && head.size <= kMostChoices &&
           ((head.kind != HeadKind::kBeta && head.kind != HeadKind::kNormal) || head.size == 2));
    outputs_ += head.outputs();
    values_ += head.values();
  }
}

template <class T>
void Heads::sample(const T* outputs, const std::uint8_t* mask, Random& random, T* action) const noexcept {
  for (const Head& head : heads_) {
    if (head.kind == HeadKind::kChoice) {
      const auto shares = probabilities(outputs, mask, head.size);
      double left = random.uniform();
      std::size_t chosen = 0;
      for (std::size_t i = 0; i < head.size; ++i) {
        if (shares[i] <= 0) continue;
        chosen = i;
        left -= shares[i];
        if (left < 0) break;
      }
      *action = static_cast<T>(chosen);
    } else if (head.kind == HeadKind::kNormal) {
      const Deviate of = deviate(outputs);
      const double share = sigmoid(of.mean + exact::exp(of.log_deviation) * random.normal());
      *action = static_cast<T>(std::clamp(share, kLeastShare, 1 - kLeastShare));
    } else {
      Concentration of = concentration(outputs, head.size);
      double sum = 0;
      for (std::size_t i = 0; i < head.size; ++i) sum += of.each[i] = random.gamma(of.each[i]);
      for (std::size_t i = 0; i < head.size; ++i) of.each[i] /= sum;
      put_shares(head, of.each, action);
    }
    outputs += head.outputs();
    mask += head.outputs();
    action += head.values();
  }
}

template <class T>
void Heads::mode(const T* outputs, const std::uint8_t* mask, T* action) const noexcept {
  for (const Head& head : heads_) {
    if (head.kind == HeadKind::kChoice) {
      std::size_t chosen = head.size;
      for (std::size_t i = 0; i < head.size; ++i) {
        if (mask[i] != 0 && (chosen == head.size || outputs[i] > outputs[chosen])) chosen = i;
      }
      *action = static_cast<T>(chosen);
    } else if (head.kind == HeadKind::kNormal) {
      const double share = sigmoid(static_cast<double>(outputs[0]));
      *action = static_cast<T>(std::clamp(share, kLeastShare, 1 - kLeastShare));
    } else {
      Concentration of = concentration(outputs, head.size);
      for (std::size_t i = 0; i < head.size; ++i) of.each[i] /= of.sum;
      put_shares(head, of.each, action);
    }
    outputs += head.outputs();
    mask += head.outputs();
    action += head.values();
  }
}

template <class T>
Likelihood Heads::likelihood(const T* outputs, const std::uint8_t* mask, const T* action) const noexcept {
  Likelihood all;
  for (const Head& head : heads_) {
    if (head.kind == HeadKind::kChoice) {
      const auto shares = probabilities(outputs, mask, head.size);
      all.log_prob += log_of(shares[static_cast<std::size_t>(*action)]);
      all.entropy += entropy_of(shares, head.size);
    } else if (head.kind == HeadKind::kNormal) {
      constexpr double kHalfLogTwoPi = 0.91893853320467274178;
      const Deviate of = deviate(outputs);
      const auto share = static_cast<double>(*action);
      const double off = off_mean(of, share);
      all.log_prob -= 0.5 * off * off + of.log_deviation + kHalfLogTwoPi + exact::log(share * (1 - share));
      all.entropy += of.log_deviation + kHalfLogTwoPi + 0.5;
    } else {
      const Concentration of = concentration(outputs, head.size);
      double log_beta = -log_gamma(of.sum);
      double entropy = (of.sum - static_cast<double>(head.size)) * digamma(of.sum);
      for (std::size_t i = 0; i < head.size; ++i) {
        log_beta += log_gamma(of.each[i]);
        entropy -= (of.each[i] - 1) * digamma(of.each[i]);
        all.log_prob += (of.each[i] - 1) * exact::log(share_of(head, action, i));
      }
      all.log_prob -= log_beta;
      all.entropy += entropy + log_beta;
    }
    outputs += head.outputs();
    mask += head.outputs();
    action += head.values();
  }
  return all;
}

template <class T>
void Heads::gradient(const T* outputs, const std::uint8_t* mask, const T* action, double by_log_prob, double by_entropy,
                     T* of_outputs) const noexcept {
  for (const Head& head : heads_) {
    if (head.kind == HeadKind::kChoice) {
      const auto shares = probabilities(outputs, mask, head.size);
      const double entropy = entropy_of(shares, head.size);
      const auto chosen = static_cast<std::size_t>(*action);
      for (std::size_t i = 0; i < head.size; ++i) {
        const double of_log_prob = (i == chosen ? 1 : 0) - shares[i];
        const double of_entropy = shares[i] > 0 ? -shares[i] * (log_of(shares[i]) + entropy) : 0;
        of_outputs[i] = static_cast<T>(mask[i] != 0 ? by_log_prob * of_log_prob + by_entropy * of_entropy : 0);
      }
    } else if (head.kind == HeadKind::kNormal) {
      const Deviate of = deviate(outputs);
      const double off = off_mean(of, static_cast<double>(*action));
      of_outputs[0] = static_cast<T>(by_log_prob * off * exact::exp(-of.log_deviation));
      of_outputs[1] = static_cast<T>((by_log_prob * (off * off - 1) + by_entropy) * of.slope);
    } else {
      const Concentration of = concentration(outputs, head.size);
      const double all_first = digamma(of.sum);
      const double all_second = (of.sum - static_cast<double>(head.size)) * trigamma(of.sum);
      for (std::size_t i = 0; i < head.size; ++i) {
        const double of_log_prob = all_first - digamma(of.each[i]) + exact::log(share_of(head, action, i));
        const double of_entropy = all_second - (of.each[i] - 1) * trigamma(of.each[i]);
        of_outputs[i] = static_cast<T>((by_log_prob * of_log_prob + by_entropy * of_entropy) *
                                       sigmoid(static_cast<double>(outputs[i])));
      }
    }
    outputs += head.outputs();
    mask += head.outputs();
    action += head.values();
    of_outputs += head.outputs();
  }
}

template <class T>
double Heads::divergence(const T* reference, const T* outputs, const std::uint8_t* mask, double by,
                         T* of_outputs) const noexcept {
  double all = 0;
  for (const Head& head : heads_) {
    if (head.kind == HeadKind::kChoice) {
      const auto theirs = probabilities(reference, mask, head.size);
      const auto own = probabilities(outputs, mask, head.size);
      for (std::size_t i = 0; i < head.size; ++i) {
        if (theirs[i] > 0) all += theirs[i] * (log_of(theirs[i]) - log_of(own[i]));
        of_outputs[i] += static_cast<T>(by * (own[i] - theirs[i]));
      }
    } else if (head.kind == HeadKind::kNormal) {
      const Deviate theirs = deviate(reference);
      const Deviate own = deviate(outputs);
      const double narrow = exact::exp(-2 * own.log_deviation);
      const double off = own.mean - theirs.mean;
      const double square = (exact::exp(2 * theirs.log_deviation) + off * off) * narrow;
      all += own.log_deviation - theirs.log_deviation + 0.5 * (square - 1);
      of_outputs[0] += static_cast<T>(by * off * narrow);
      of_outputs[1] += static_cast<T>(by * (1 - square) * own.slope);
    } else {
      const Concentration theirs = concentration(reference, head.size);
      const Concentration own = concentration(outputs, head.size);
      all += log_gamma(theirs.sum) - log_gamma(own.sum);
      for (std::size_t i = 0; i < head.size; ++i) {
        const double mean_log = digamma(theirs.each[i]) - digamma(theirs.sum);
        all += log_gamma(own.each[i]) - log_gamma(theirs.each[i]) + (theirs.each[i] - own.each[i]) * mean_log;
        const double of_each = digamma(own.each[i]) - digamma(own.sum) - mean_log;
        of_outputs[i] += static_cast<T>(by * of_each * sigmoid(static_cast<double>(outputs[i])));
      }
    }
    reference += head.outputs();
    outputs += head.outputs();
    mask += head.outputs();
    of_outputs += head.outputs();
  }
  return all;
}

template Probabilities probabilities(const float*, const std::uint8_t*, std::size_t) noexcept;
template Probabilities probabilities(const double*, const std::uint8_t*, std::size_t) noexcept;
template void Heads::sample(const float*, const std::uint8_t*, Random&, float*) const noexcept;
template void Heads::sample(const double*, const std::uint8_t*, Random&, double*) const noexcept;
template void Heads::mode(const float*, const std::uint8_t*, float*) const noexcept;
template void Heads::mode(const double*, const std::uint8_t*, double*) const noexcept;
template Likelihood Heads::likelihood(const float*, const std::uint8_t*, const float*) const noexcept;
template Likelihood Heads::likelihood(const double*, const std::uint8_t*, const double*) const noexcept;
template void Heads::gradient(const float*, const std::uint8_t*, const float*, double, double, float*) const noexcept;
template void Heads::gradient(const double*, const std::uint8_t*, const double*, double, double,
                              double*) const noexcept;
template double Heads::divergence(const float*, const float*, const std::uint8_t*, double, float*) const noexcept;
template double Heads::divergence(const double*, const double*, const std::uint8_t*, double, double*) const noexcept;

}  // namespace drapps::rl
