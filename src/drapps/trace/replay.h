// Decides again what was decided: the recorded policy behind the recorded guard, given what was recorded of all that
// they see. Both are pure, so that every decision must come out as it was.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "drapps/base/result.h"
#include "drapps/policy/decider.h"
#include "drapps/trace/reader.h"

namespace drapps::trace {

struct Replay {
  std::uint64_t decisions = 0;
  std::uint64_t equal = 0;
  std::string first_difference;  // empty where there is none
};

/// Whether a trace is of this version's knobs, lanes and observations; kUnsupported says what to do where not.
Status check_schema(const Header& header);

/// A replay as it goes on, entry by entry, of a trace with this version's schema.
class Replayer {
 public:
  /// kInvalidArgument where a policy cannot be made, kCorrupt for what no recording holds.
  Status take(const Entry& entry);
  const Replay& done() const noexcept { return done_; }

 private:
  Status begin(const Began& began);
  Status swap(const Swapped& swapped);
  Status decide(const DecisionRead& read);

  std::optional<Decider> decider_;
  std::optional<Limits> limits_;  // of the decisions to come
  Replay done_;
};

/// From where `reader` stands, its beginning, to its end. kUnsupported as check_schema(), kInvalidArgument where a
/// policy cannot be made, kCorrupt for what no recording holds.
Result<Replay> replay(Reader& reader);

}  // namespace drapps::trace
