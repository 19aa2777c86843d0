#include "drapps/trace/replay.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "drapps/base/caught.h"
#include "drapps/base/never_destroyed.h"
#include "drapps/plant/schema.h"
#include "drapps/policy/registry.h"
#include "drapps/policy/weights_file.h"
#include "drapps/trace/typed.h"

namespace drapps::trace {
namespace {

Result<std::unique_ptr<Policy>> policy_of(const std::string& text, PolicyConfig& config) {
  auto read = policy_config_from_json(nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false));
  if (!read.ok()) return std::move(read).error();
  config = *std::move(read);
  return make_policy(config);
}

Result<DeciderState> state_of(const Began& began) {
  auto limits = limits_of(began.limits);
  if (!limits.ok()) return std::move(limits).error();
  DeciderState state{.policy = {.limits = *limits, .why = Reason(began.why)}, .guard = began.guard};
  if (began.trying > static_cast<std::uint8_t>(Trying::kTries)) return impossible("there is no such turn");
  state.policy.trying = static_cast<Trying>(began.trying);
  if (began.memory.size() > kPolicyMemory) return impossible("no policy remembers so much");
  std::transform(began.memory.begin(), began.memory.end(), state.policy.memory.begin(),
                 [](std::uint8_t byte) { return std::byte{byte}; });
  return state;
}

std::string in_words(Hold hold) { return hold == Hold::kNone ? "not held" : "held: " + std::string(name_of(hold)); }

/// The first thing that two decisions differ in; empty where they are equal.
std::string difference(const Decision& was, const Decision& is) {
  const auto numbers = [](std::string_view what, std::int32_t before, std::int32_t now) {
    return std::string(what) + " was " + std::to_string(before) + " and is " + std::to_string(now);
  };
  for (const Knob& knob : knob_table()) {
    const std::string name(knob.name);
    const auto i = static_cast<std::size_t>(knob.id);
    if (was.proposed[knob.id] != is.proposed[knob.id]) {
      return numbers("the proposal for " + name, was.proposed[knob.id], is.proposed[knob.id]);
    }
    if (was.applied[knob.id] != is.applied[knob.id]) {
      return numbers("what was applied of " + name, was.applied[knob.id], is.applied[knob.id]);
    }
    if (was.holds[i] != is.holds[i])
      return name + " was " + in_words(was.holds[i]) + " and is " + in_words(is.holds[i]);
  }
  if (was.proposed != is.proposed) return "the proposal for the weights of the lanes is another";
  if (was.applied != is.applied) return "what was applied of the weights of the lanes is another";
  if (was.weights_hold != is.weights_hold) {
    return "the weights were " + in_words(was.weights_hold) + " and are " + in_words(is.weights_hold);
  }
  const auto texts = [](const char* what, const Reason& before, const Reason& now) {
    return std::string(what) + " was \"" + std::string(before.view()) + "\" and is \"" + std::string(now.view()) + "\"";
  };
  if (was.why != is.why) return texts("the reason", was.why, is.why);
  if (was.fault != is.fault) return texts("what is wrong with the observation", was.fault, is.fault);
  return {};
}

Result<Decision> decision_of(const DecisionRead& read) {
  auto proposed = settings_of(read.proposed);
  if (!proposed.ok()) return std::move(proposed).error();
  auto applied = settings_of(read.applied);
  if (!applied.ok()) return std::move(applied).error();
  Decision decision{.proposed = *proposed, .applied = *applied, .why = Reason(read.why), .fault = Reason(read.fault)};
  for (std::size_t i = 0; i < kKnobs; ++i) decision.holds[i] = static_cast<Hold>(read.holds[i]);
  decision.weights_hold = static_cast<Hold>(read.holds[kKnobs]);
  return decision;
}

Error unbegun() { return impossible("the trace says nothing of who decided when it began"); }

}  // namespace

Status Replayer::take(const Entry& entry) {
  if (const auto* began = std::get_if<Began>(&entry)) return begin(*began);
  if (const auto* swapped = std::get_if<Swapped>(&entry)) return swap(*swapped);
  if (const auto* renewed = std::get_if<Renewed>(&entry)) return renew(*renewed);
  if (const auto* read = std::get_if<DecisionRead>(&entry)) return decide(*read);
  const auto* changed = std::get_if<LimitsChanged>(&entry);
  if (changed == nullptr) return ok_status();
  auto limits = limits_of(changed->limits);
  if (!limits.ok()) return std::move(limits).error();
  limits_ = *limits;
  return ok_status();
}

Status Replayer::begin(const Began& began) {
  auto policy = policy_of(began.config, config_);
  if (!policy.ok()) return std::move(policy).error();
  auto state = state_of(began);
  if (!state.ok()) return std::move(state).error();
  decider_.emplace(*std::move(policy), state->policy.limits);
  return decider_->restore(*state);
}

Status Replayer::swap(const Swapped& swapped) {
  if (!decider_) return unbegun();
  auto policy = policy_of(swapped.config, config_);
  if (!policy.ok()) return std::move(policy).error();
  decider_->swap(*std::move(policy));
  return ok_status();
}

Status Replayer::renew(const Renewed& renewed) {
  if (!decider_) return unbegun();
  auto weights = get_weights(folder_, renewed.hash);
  if (!weights.ok()) {
    Error error = std::move(weights).error();
    error.message = "the trace names weights that are to lie beside it: " + error.message;
    return error;
  }
  config_.weights = *std::move(weights);
  auto policy = make_policy(config_);
  if (!policy.ok()) return std::move(policy).error();
  decider_->renew(*std::move(policy));
  return ok_status();
}

Status Replayer::decide(const DecisionRead& read) {
  if (!decider_) return unbegun();
  if (limits_) decider_->set_limits(*limits_);
  limits_.reset();
  const auto seen = observation_of(read);
  if (!seen.ok()) return seen.error();
  auto was = decision_of(read);
  if (!was.ok()) return std::move(was).error();
  std::string differs;
  // What a policy throws had no decision.
  const Status decided =
      catching([&] { differs = difference(*was, decider_->decide(*seen, [&] { return read.guard_ns; })); });
  if (!decided.ok()) differs = "the policy failed: " + decided.error().message;
  ++done_.decisions;
  if (differs.empty()) {
    ++done_.equal;
  } else if (done_.first_difference.empty()) {
    done_.first_difference = "decision " + std::to_string(done_.decisions) + ": " + differs;
  }
  return ok_status();
}

Status check_schema(const TraceHeader& header) {
  static const NeverDestroyed<const TraceHeader> own_header(this_header(0, 0));
  const TraceHeader& here = *own_header;
  const bool same_lists = header.fields.size() == here.fields.size() && header.knobs == here.knobs &&
                          header.lanes == here.lanes && header.holds == here.holds;
  if (header.schema == here.schema && header.schema_text == here.schema_text && same_lists) return ok_status();
  return Error{.code = ErrorCode::kUnsupported,
               .message =
                   "this trace was recorded by another version, whose knobs, lanes or observations are others "
                   "(schema " +
                   header.schema + ", here " + here.schema +
                   "); replay it with the version that recorded it, or show and export it with this one"};
}

Result<Replay> replay(TraceReader& reader, const std::string& folder) {
  DRAPPS_RETURN_IF_ERROR(check_schema(reader.header()));
  Replayer replayer(folder);
  for (;;) {
    auto entry = reader.next();
    if (!entry.ok()) return std::move(entry).error();
    const std::optional<Entry>& read = *entry;
    if (!read) return replayer.done();
    DRAPPS_RETURN_IF_ERROR(replayer.take(*read));
  }
}

}  // namespace drapps::trace
