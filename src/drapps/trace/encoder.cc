#include "drapps/trace/encoder.h"

#include <algorithm>
#include <bit>
#include <span>

#include "drapps/trace/header.h"

namespace drapps::trace {
namespace {

void put_record(Bytes& out, Tag tag, std::span<const std::uint8_t> content) {
  out.push_back(static_cast<std::uint8_t>(tag));
  put_number(out, content.size());
  out.insert(out.end(), content.begin(), content.end());
}

Bytes record(Tag tag, std::span<const std::uint8_t> content) {
  Bytes out;
  put_record(out, tag, content);
  return out;
}

Bytes timed(std::uint64_t time_ns) {
  Bytes content;
  put_number(content, time_ns);
  return content;
}

void put_limits(Bytes& out, const Limits& limits) {
  for (const Bounds& bounds : limits.knobs) {
    put_difference(out, static_cast<std::uint64_t>(bounds.low), 0);
    put_difference(out, static_cast<std::uint64_t>(bounds.high), 0);
  }
  put_number(out, limits.weighted.to_ullong());
  put_fixed64(out, std::bit_cast<std::uint64_t>(limits.cpus));
}

void put_settings(Bytes& out, const Settings& settings, std::span<std::uint64_t> before) {
  std::array<std::uint64_t, kKnobs + kLanes.size()> now{};
  std::size_t at = 0;
  for (const std::int32_t value : settings.knobs) now[at++] = static_cast<std::uint64_t>(value);
  for (const std::int32_t value : settings.lane_weights) now[at++] = static_cast<std::uint64_t>(value);
  put_words(out, now, before);
}

void put_holds(Bytes& out, const Decision& decision) {
  std::array<std::uint64_t, kKnobs + 1> now{}, none{};
  std::transform(decision.holds.begin(), decision.holds.end(), now.begin(),
                 [](Hold hold) { return static_cast<std::uint64_t>(hold); });
  now.back() = static_cast<std::uint64_t>(decision.weights_hold);
  put_words(out, now, none);
}

/// Puts a reason: 0 where it is the one before, else its length and one, and its text.
void put_reason(Bytes& out, const Reason& now, Reason& before) {
  if (now == before) {
    put_number(out, 0);
    return;
  }
  put_number(out, now.view().size() + 1);
  out.insert(out.end(), now.view().begin(), now.view().end());
  before = now;
}

Bytes sample_bytes(const SampleRecord& sample) {
  Bytes out;
  put_number(out, sample.index);
  put_number(out, sample.position);
  put_number(out, sample.bytes);
  out.push_back(static_cast<std::uint8_t>(sample.known));
  put_number(out, sample.cpu_ns);
  std::uint64_t lanes = 0;
  for (std::size_t lane = 0; lane < kLanes.size(); ++lane) {
    if (sample.wall_ns[lane] != 0) lanes |= std::uint64_t{1} << lane;
  }
  put_number(out, lanes);
  for (const std::uint64_t ns : sample.wall_ns) {
    if (ns != 0) put_number(out, ns);
  }
  return out;
}

/// Puts samples at the end of a decision that has `used` bytes already: as many as fit, spread evenly over those that
/// there are.
void put_samples(Bytes& out, const SampleBatch& batch, std::size_t used) {
  constexpr std::size_t kCounts = 11;  // the most bytes of the two numbers before the samples
  const std::size_t room = kDecisionBytes - std::min(kDecisionBytes, used + kCounts);
  std::vector<Bytes> all;
  for (const SampleRecord& sample : std::span(batch.samples).first(std::min(batch.samples.size(), kMostSamples))) {
    all.push_back(sample_bytes(sample));
  }
  const auto place = [&](std::size_t i, std::size_t kept) { return (2 * i + 1) * all.size() / (2 * kept); };
  std::size_t kept = all.size();
  for (; kept > 0; --kept) {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < kept; ++i) bytes += all[place(i, kept)].size();
    if (bytes <= room) break;
  }
  put_number(out, batch.seen);
  put_number(out, kept);
  for (std::size_t i = 0; i < kept; ++i) {
    const Bytes& sample = all[place(i, kept)];
    out.insert(out.end(), sample.begin(), sample.end());
  }
}

}  // namespace

TraceEncoder::TraceEncoder() : codings_(this_header(0, 0).codings()) {}

Bytes TraceEncoder::text(Tag tag, std::string_view json) const {
  return record(tag, {reinterpret_cast<const std::uint8_t*>(json.data()), json.size()});
}

Bytes TraceEncoder::began(const Beginning& beginning, std::uint64_t time_ns) {
  const PolicyState& policy = beginning.state.policy;
  Bytes content = timed(time_ns);
  put_text(content, beginning.policy);
  put_text(content, beginning.config);
  put_limits(content, policy.limits);
  content.push_back(static_cast<std::uint8_t>((beginning.frozen ? 1 : 0) | (beginning.stopped ? 2 : 0)));
  put_text(content, policy.why.view());
  content.push_back(static_cast<std::uint8_t>(policy.trying));
  const auto end =
      std::find_if(policy.memory.rbegin(), policy.memory.rend(), [](std::byte byte) { return byte != std::byte{0}; });
  put_text(content,
           {reinterpret_cast<const char*>(policy.memory.data()), static_cast<std::size_t>(policy.memory.rend() - end)});
  std::vector<std::uint64_t> zeros(beginning.state.guard.size());
  put_number(content, zeros.size());
  put_words(content, beginning.state.guard, zeros);
  limits_ = policy.limits;
  return record(Tag::kBegan, content);
}

Bytes TraceEncoder::decision(const Limits& limits, const Observation& seen, const Decision& decision,
                             const SampleBatch& batch) {
  Bytes out;
  if (limits_ != limits) {
    Bytes content;
    put_limits(content, limits);
    put_record(out, Tag::kLimits, content);
    limits_ = limits;
  }
  Bytes content;
  const bool missing = seen.time_ns == 0;
  content.push_back(missing ? 1 : 0);
  // An observation that is missing is nothing to compare the next one with.
  ObservationWords zeros{};
  put_words(content, words_of(seen), missing ? zeros : words_, codings_);
  put_difference(content, decision.guard_ns, seen.time_ns);
  put_settings(content, decision.proposed, proposed_);
  put_settings(content, decision.applied, applied_);
  put_holds(content, decision);
  put_reason(content, decision.why, why_);
  put_reason(content, decision.fault, fault_);
  constexpr std::size_t kRecordHead = 3;  // tag and length
  put_samples(content, batch, out.size() + kRecordHead + content.size());
  put_record(out, Tag::kDecision, content);
  ++decisions_;
  return out;
}

Bytes TraceEncoder::swapped(std::string_view policy, std::string_view config, std::uint64_t time_ns) const {
  Bytes content = timed(time_ns);
  put_text(content, policy);
  put_text(content, config);
  return record(Tag::kSwapped, content);
}

Bytes TraceEncoder::renewed(std::string_view hash, std::uint64_t time_ns) const {
  Bytes content = timed(time_ns);
  put_text(content, hash);
  return record(Tag::kRenewed, content);
}

Bytes TraceEncoder::frozen(bool frozen, std::uint64_t time_ns) const {
  return record(frozen ? Tag::kFrozen : Tag::kUnfrozen, timed(time_ns));
}

Bytes TraceEncoder::pass(std::uint32_t epoch, std::uint64_t time_ns) const {
  Bytes content = timed(time_ns);
  put_number(content, epoch);
  return record(Tag::kPass, content);
}

Bytes TraceEncoder::stopped(std::string_view why, std::uint64_t time_ns) const {
  Bytes content = timed(time_ns);
  put_text(content, why.substr(0, kMostText));
  return record(Tag::kStopped, content);
}

Bytes TraceEncoder::ended(std::uint64_t time_ns) const {
  Bytes content = timed(time_ns);
  put_number(content, decisions_);
  return record(Tag::kEnded, content);
}

}  // namespace drapps::trace
