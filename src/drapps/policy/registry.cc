#include "drapps/policy/registry.h"

#include <atomic>
#include <string>

#include "drapps/policy/hill_climb.h"
#include "drapps/policy/initial.h"
#include "drapps/policy/trials.h"

namespace drapps {
namespace {

template <class P>
std::unique_ptr<Policy> made() {
  return std::make_unique<P>();
}

/// A list that only grows, at its front: it needs no lock, which a fork could leave taken.
struct KnownPolicy {
  PolicyKind kind;
  const KnownPolicy* next;
};
constexpr KnownPolicy kHillClimb{{"hill_climb", made<HillClimb>}, nullptr};
constexpr KnownPolicy kTrials{{"trials", made<Trials>}, &kHillClimb};
constexpr KnownPolicy kInitial{{"initial", made<Initial>}, &kTrials};
std::atomic<const KnownPolicy*> known_policies{&kInitial};

const PolicyKind* kind_of(std::string_view name) {
  const KnownPolicy* known = known_policies.load(std::memory_order_acquire);
  while (known != nullptr && known->kind.name != name) known = known->next;
  return known == nullptr ? nullptr : &known->kind;
}

}  // namespace

void register_policy(const PolicyKind& kind) {
  if (kind_of(kind.name) != nullptr) return;
  auto* fresh = new KnownPolicy{kind, known_policies.load(std::memory_order_acquire)};
  while (!known_policies.compare_exchange_weak(fresh->next, fresh, std::memory_order_acq_rel)) {
  }
}

std::vector<std::string_view> policy_names() {
  std::vector<std::string_view> names;
  for (const KnownPolicy* known = known_policies.load(std::memory_order_acquire); known != nullptr;
       known = known->next) {
    names.push_back(known->kind.name);
  }
  return names;
}

Result<std::unique_ptr<Policy>> make_policy(std::string_view name) {
  if (const PolicyKind* kind = kind_of(name)) return kind->make();
  std::string message = "there is no policy \"" + std::string(name) + "\"; choose one of";
  for (const std::string_view known : policy_names()) message.append(" ").append(known);
  return invalid(std::move(message));
}

}  // namespace drapps
