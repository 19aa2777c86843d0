// Decides again what was decided: the recorded policy behind the recorded guard, given what was recorded of all that
// they see. Both are pure, so that every decision must come out as it was.
//
//   auto reader = TraceReader::open(folder + "/run.trace");
//   auto again = replay(**reader, folder);
//   if (again->equal < again->decisions) show(again->first_difference);
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "drapps/base/result.h"
#include "drapps/policy/config.h"
#include "drapps/policy/decider.h"
#include "drapps/trace/reader.h"

namespace drapps::trace {

struct Replay {
  std::uint64_t decisions = 0;
  std::uint64_t equal = 0;
  std::string first_difference;  // empty where there is none
};

/// Whether a trace is of this version's knobs, lanes and observations; kUnsupported says what to do where not.
Status check_schema(const TraceHeader& header);

/// A replay as it goes on, entry by entry, of a trace with this version's schema.
class Replayer {
 public:
  /// @param folder  of the trace: weights that it names are there.
  explicit Replayer(std::string folder) : folder_(std::move(folder)) {}

  /// kInvalidArgument where a policy cannot be made, kCorrupt for what no recording holds.
  Status take(const Entry& entry);
  const Replay& done() const noexcept { return done_; }

 private:
  Status begin(const Began& began);
  Status swap(const Swapped& swapped);
  Status renew(const Renewed& renewed);
  Status decide(const DecisionRead& read);

  const std::string folder_;
  PolicyConfig config_;  // of who decides
  std::optional<Decider> decider_;
  std::optional<Limits> limits_;  // of the decisions to come
  Replay done_;
};

/// Replays a trace from where `reader` stands, its beginning, to its end. kUnsupported as check_schema(),
/// kInvalidArgument where a policy cannot be made, kCorrupt for what no recording holds; kNotFound where weights that
/// it names are not in `folder`, that of the trace.
Result<Replay> replay(TraceReader& reader, const std::string& folder);

}  // namespace drapps::trace
