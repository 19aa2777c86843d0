// Any bytes are refused as the weights of a learned policy, or make one that decides. The hash at their end is made to
// fit, so that what lies before it is looked at.
#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include "drapps/plant/knob_range.h"
#include "drapps/plant/schema.h"
#include "drapps/policy/learned.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto* begin = reinterpret_cast<const std::byte*>(data);
  std::vector<std::byte> bytes(begin, begin + size);
  const std::uint64_t hash = drapps::hash_of({reinterpret_cast<const char*>(data), size});
  for (std::size_t i = 0; i < 8; ++i) bytes.push_back(static_cast<std::byte>(hash >> (8 * i) & 0xFF));
  const auto policy = drapps::LearnedPolicy::make({.name = "ppo", .weights = std::move(bytes)});
  if (!policy.ok()) return 0;
  drapps::PolicyState state{.limits = drapps::native_limits(8, 64, 16, true)};
  drapps::Observation seen{.time_ns = 1'000'000'000};
  for (int turn = 0; turn < 3; ++turn) {
    seen.time_ns += 500'000'000;
    seen.settings = drapps::fit_settings((*policy)->decide(seen, state), state.limits);
    if (!(*policy)->knows(state)) std::abort();
  }
  return 0;
}
