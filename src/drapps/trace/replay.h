// Decides again what was decided: the recorded policy behind the recorded guard, given what was recorded of all that
// they see. Both are pure, so that every decision must come out as it was.
#pragma once

#include <cstdint>
#include <string>

#include "drapps/base/result.h"
#include "drapps/trace/reader.h"

namespace drapps::trace {

struct Replay {
  std::uint64_t decisions = 0;
  std::uint64_t equal = 0;
  std::string first_difference;  // empty where there is none
};

/// Whether a trace is of this version's knobs, lanes and observations; kUnsupported says what to do where not.
Status check_schema(const Header& header);

/// From where `reader` stands, its beginning, to its end. kUnsupported as check_schema(), kInvalidArgument where a
/// policy cannot be made, kCorrupt for what no recording holds.
Result<Replay> replay(Reader& reader);

}  // namespace drapps::trace
