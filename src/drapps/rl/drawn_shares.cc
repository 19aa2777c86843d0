#include "drapps/rl/drawn_shares.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "drapps/base/exact_math.h"
#include "drapps/rl/gamma_function.h"

namespace drapps::rl {
namespace {

constexpr double kHalfLogOfTwoPi = 0.91893853320467274178;
constexpr std::array<std::uint8_t, kMostChoices> kNoMask{};  // which shares do not read

double kept_within(double share) noexcept { return std::clamp(share, kLeastShare, 1 - kLeastShare); }

/// A squashed deviate: how it changes with its outputs, and -ln π with it.
struct Squashed {
  double share, entropy;
  double by_mean, by_log_deviation;                  // of the share
  double entropy_by_mean, entropy_by_log_deviation;  // of the entropy
};

template <class T>
Squashed squashed(const T* outputs, double noise) noexcept {
  const auto raw = static_cast<double>(outputs[1]);
  const double log_deviation = std::clamp(raw, kLeastLogDeviation, kMostLogDeviation);
  const double slope = raw == log_deviation ? 1 : 0;
  const double off = exact::exp(log_deviation) * noise;
  const double share = 1 / (1 + exact::exp(-(static_cast<double>(outputs[0]) + off)));
  const double kept = kept_within(share);
  const double by = kept == share ? share * (1 - share) : 0;
  const double entropy_by = kept == share ? 1 - 2 * share : 0;
  return {.share = kept,
          .entropy = 0.5 * noise * noise + log_deviation + kHalfLogOfTwoPi + exact::log(kept * (1 - kept)),
          .by_mean = by,
          .by_log_deviation = by * off * slope,
          .entropy_by_mean = entropy_by,
          .entropy_by_log_deviation = (1 + entropy_by * off) * slope};
}

/// Numbers that are shares once they are divided by their sum, and by how much each changes with its output.
struct GammaParts {
  std::array<double, kMostChoices> each, by_output;
  double sum = 0;
};

template <class T>
GammaParts drawn_parts(const T* outputs, const T* noise, std::size_t size) noexcept {
  GammaParts parts;
  for (std::size_t i = 0; i < size; ++i) {
    const auto output = static_cast<double>(outputs[i]);
    const double shape = 1 + std::max(output, 0.0) + exact::log(1 + exact::exp(-std::abs(output)));
    parts.each[i] = gamma_quantile(shape, static_cast<double>(noise[i]));
    parts.by_output[i] = gamma_slope(shape, parts.each[i]) / (1 + exact::exp(-output));
    parts.sum += parts.each[i];
  }
  return parts;
}

}  // namespace

double ShareHead::wanted() const noexcept {
  if (head_.kind != HeadKind::kDirichlet) return kShareEntropy;
  const auto size = static_cast<double>(head_.size);
  return kShareEntropy * (size - 1) - log_gamma(size);
}

template <class T>
double ShareHead::draw(const T* outputs, const T* noise, T* shares) const noexcept {
  if (head_.kind == HeadKind::kNormal) {
    const Squashed drawn = squashed(outputs, static_cast<double>(*noise));
    *shares = static_cast<T>(drawn.share);
    return drawn.entropy;
  }
  const GammaParts parts = drawn_parts(outputs, noise, head_.size);
  for (std::size_t i = 0; i < head_.values(); ++i) shares[i] = static_cast<T>(kept_within(parts.each[i] / parts.sum));
  return alone_.likelihood(outputs, kNoMask.data(), shares).entropy;
}

template <class T>
void ShareHead::gradient(const T* outputs, const T* noise, const double* by_shares, double by_entropy,
                         T* of_outputs) const noexcept {
  if (head_.kind == HeadKind::kNormal) {
    const Squashed drawn = squashed(outputs, static_cast<double>(*noise));
    of_outputs[0] = static_cast<T>(*by_shares * drawn.by_mean + by_entropy * drawn.entropy_by_mean);
    of_outputs[1] = static_cast<T>(*by_shares * drawn.by_log_deviation + by_entropy * drawn.entropy_by_log_deviation);
    return;
  }
  const GammaParts parts = drawn_parts(outputs, noise, head_.size);
  std::array<double, kMostChoices> by{};
  std::array<T, kMostChoices> shares{};
  double mean = 0;
  for (std::size_t i = 0; i < head_.size; ++i) {
    const double share = parts.each[i] / parts.sum;
    shares[i] = static_cast<T>(kept_within(share));
    by[i] = i < head_.values() && share == kept_within(share) ? by_shares[i] : 0;
    mean += by[i] * share;
  }
  alone_.gradient(outputs, kNoMask.data(), shares.data(), 0, by_entropy, of_outputs);
  for (std::size_t i = 0; i < head_.size; ++i) {
    of_outputs[i] += static_cast<T>((by[i] - mean) / parts.sum * parts.by_output[i]);
  }
}

template double ShareHead::draw(const float*, const float*, float*) const noexcept;
template double ShareHead::draw(const double*, const double*, double*) const noexcept;
template void ShareHead::gradient(const float*, const float*, const double*, double, float*) const noexcept;
template void ShareHead::gradient(const double*, const double*, const double*, double, double*) const noexcept;

}  // namespace drapps::rl
