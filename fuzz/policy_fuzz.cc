// Any text is refused as a policy, or read and written as the same policy again; and what is read can be made, or is
// refused.
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "drapps/policy/registry.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto json = nlohmann::json::parse(data, data + size, nullptr, /*allow_exceptions=*/false);
  const auto config = drapps::policy_config_from_json(json);
  if (!config.ok()) return 0;
  const auto again = drapps::policy_config_from_json(drapps::policy_config_to_json(*config));
  if (!again.ok() || *again != *config) std::abort();
  if (const auto policy = drapps::make_policy(*config); policy.ok() && (*policy)->name() != config->name) std::abort();
  return 0;
}
