#include "drapps/trace/decoder.h"

#include <algorithm>
#include <bit>

#include "drapps/plant/policy.h"

namespace drapps::trace {
namespace {

constexpr std::size_t kMostGuardWords = 8192;

std::int32_t value_of(std::uint64_t word, ByteCursor& in) noexcept {
  const auto wide = static_cast<std::int64_t>(word);
  const auto narrow = static_cast<std::int32_t>(wide);
  if (narrow != wide) in.fail();
  return narrow;
}

std::vector<std::int32_t> read_settings(ByteCursor& in, std::span<std::uint64_t> before) {
  take_words(in, before);
  std::vector<std::int32_t> values(before.size());
  std::transform(before.begin(), before.end(), values.begin(), [&](std::uint64_t word) { return value_of(word, in); });
  return values;
}

const std::string& read_reason(ByteCursor& in, std::string& before) {
  const std::uint64_t length = in.number_to(kMostText);
  if (length == 0) return before;
  const auto text = in.take(length - 1);
  before.assign(text.begin(), text.end());
  return before;
}

}  // namespace

TraceDecoder::TraceDecoder(const TraceHeader& header)
    : knobs_(header.knobs.size()),
      lanes_(header.lanes.size()),
      holds_(header.holds.size()),
      codings_(header.codings()),
      words_(header.fields.size()),
      proposed_(header.settings()),
      applied_(header.settings()) {}

Result<Entry> TraceDecoder::read(Tag tag, std::span<const std::uint8_t> content) {
  ByteCursor in(content);
  Entry entry = read_entry(tag, in);
  if (in.done()) return entry;
  return Error{.code = ErrorCode::kCorrupt, .message = "a record of the trace makes no sense"};
}

Entry TraceDecoder::read_entry(Tag tag, ByteCursor& in) {
  switch (tag) {
    case Tag::kBegan: return read_began(in);
    case Tag::kLimits: return LimitsChanged{read_limits(in)};
    case Tag::kDecision: return read_decision(in);
    case Tag::kSwapped: {
      Swapped swapped{.time_ns = in.number()};
      swapped.policy = in.text();
      swapped.config = in.text();
      return swapped;
    }
    case Tag::kRenewed: {
      Renewed renewed{.time_ns = in.number()};
      renewed.hash = in.text();
      return renewed;
    }
    case Tag::kFrozen: return Frozen{.time_ns = in.number(), .frozen = true};
    case Tag::kUnfrozen: return Frozen{.time_ns = in.number(), .frozen = false};
    case Tag::kPass: {
      const std::uint64_t time = in.number();
      return PassBegan{.time_ns = time, .epoch = static_cast<std::uint32_t>(in.number_to(0xFFFF'FFFF))};
    }
    case Tag::kStopped: {
      Stopped stopped{.time_ns = in.number()};
      stopped.why = in.text();
      return stopped;
    }
    case Tag::kEnded: {
      const std::uint64_t time = in.number();
      return Ended{.time_ns = time, .decisions = in.number()};
    }
    case Tag::kHeader:
    case Tag::kAbout: break;
  }
  in.fail();
  return Ended{};
}

Began TraceDecoder::read_began(ByteCursor& in) const {
  Began began{.time_ns = in.number()};
  began.policy = in.text();
  began.config = in.text();
  began.limits = read_limits(in);
  const std::uint8_t flags = in.byte();
  if (flags > 3) in.fail();
  began.frozen = (flags & 1) != 0;
  began.stopped = (flags & 2) != 0;
  began.why = in.text();
  began.trying = in.byte();
  const std::string memory = in.text();
  began.memory.assign(memory.begin(), memory.end());
  began.guard.resize(static_cast<std::size_t>(in.number_to(kMostGuardWords)));
  take_words(in, began.guard);
  return began;
}

LimitsRead TraceDecoder::read_limits(ByteCursor& in) const {
  LimitsRead limits;
  for (std::size_t i = 0; i < knobs_; ++i) {
    const std::int32_t low = value_of(in.difference(0), in);
    limits.knobs.push_back({.low = low, .high = value_of(in.difference(0), in)});
  }
  limits.weighted = in.number();
  if (lanes_ < 64 && limits.weighted >> lanes_ != 0) in.fail();
  limits.cpus = std::bit_cast<double>(in.fixed(8));
  return limits;
}

SampleRead TraceDecoder::read_sample(ByteCursor& in) const {
  SampleRead sample{.index = in.number()};
  sample.position = in.number();
  sample.bytes = in.number();
  const std::uint8_t known = in.byte();
  if (known > static_cast<std::uint8_t>(Learned::kAll)) in.fail();
  sample.known = in.ok() ? static_cast<Learned>(known) : Learned::kNothing;
  sample.cpu_ns = in.number();
  const std::uint64_t lanes = in.number();
  if (lanes_ < 64 && lanes >> lanes_ != 0) in.fail();
  for (std::size_t lane = 0; lane < lanes_ && in.ok(); ++lane) {
    if ((lanes >> lane & 1) != 0) sample.wall_ns.emplace_back(static_cast<std::uint8_t>(lane), in.number());
  }
  return sample;
}

DecisionRead TraceDecoder::read_decision(ByteCursor& in) {
  DecisionRead decision;
  const bool missing = in.byte() != 0;
  if (missing) {
    decision.words.resize(words_.size());
    take_words(in, decision.words, codings_);
  } else {
    take_words(in, words_, codings_);
    decision.words = words_;
  }
  // The first field is the time.
  decision.guard_ns = in.difference(decision.words.empty() ? 0 : decision.words[0]);
  decision.proposed = read_settings(in, proposed_);
  decision.applied = read_settings(in, applied_);
  std::vector<std::uint64_t> holds(knobs_ + 1);
  take_words(in, holds);
  for (const std::uint64_t hold : holds) {
    if (hold >= holds_) in.fail();
    decision.holds.push_back(static_cast<std::uint8_t>(hold));
  }
  decision.why = read_reason(in, why_);
  decision.fault = read_reason(in, fault_);
  decision.samples_seen = in.number();
  for (std::uint64_t left = in.number_to(kMostSamples); left > 0 && in.ok(); --left) {
    decision.samples.push_back(read_sample(in));
  }
  return decision;
}

}  // namespace drapps::trace
