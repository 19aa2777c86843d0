#include "drapps/policy/registry.h"

#include <string>

#include "drapps/policy/faulty.h"
#include "drapps/policy/hill_climb.h"
#include "drapps/policy/initial.h"
#include "drapps/policy/random_walk.h"
#include "drapps/policy/trials.h"

namespace drapps {
namespace {

constexpr std::uint64_t kTestSeed = 1;

}  // namespace

std::vector<std::string_view> policy_names() { return {"initial", "trials", "hill_climb"}; }

Result<std::unique_ptr<Policy>> make_policy(std::string_view name) {
  std::unique_ptr<Policy> policy;
  if (name == "initial") policy = std::make_unique<Initial>();
  if (name == "hill_climb") policy = std::make_unique<HillClimb>();
  if (name == "trials") policy = std::make_unique<Trials>();
  if (name == "random") policy = std::make_unique<RandomWalk>(kTestSeed);
  if (name == "random_raw") policy = std::make_unique<RandomWalk>(kTestSeed, true);
  if (name == "faulty") policy = std::make_unique<Faulty>();
  if (policy) return policy;
  std::string message = "there is no policy \"" + std::string(name) + "\"; choose one of";
  for (const std::string_view known : policy_names()) message.append(" ").append(known);
  return Error{.code = ErrorCode::kInvalidArgument, .message = std::move(message)};
}

}  // namespace drapps
