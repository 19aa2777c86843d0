// Whether a gradient is what central differences say.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

namespace drapps::rl {

/// Expects the gradient of a loss by its parameters to be within 1e-5 of the largest part.
template <class Loss>
void expect_gradient(std::span<double> parameters, const std::vector<double>& gradient, const Loss& loss) {
  ASSERT_EQ(parameters.size(), gradient.size());
  double most = 0;
  for (const double each : gradient) most = std::max(most, std::abs(each));
  ASSERT_GT(most, 0);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    constexpr double kStep = 1e-6;
    const double at = parameters[i];
    parameters[i] = at + kStep;
    const double above = loss();
    parameters[i] = at - kStep;
    const double below = loss();
    parameters[i] = at;
    EXPECT_NEAR(gradient[i], (above - below) / (2 * kStep), 1e-5 * most) << i;
  }
}

}  // namespace drapps::rl
