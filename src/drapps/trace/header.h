// What a trace begins with: which numbers its observations hold, which knobs and lanes its settings, and where it was
// recorded. A trace is read by the lists in its own header; it is replayed only where they are this version's.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "drapps/base/result.h"
#include "drapps/trace/words.h"

namespace drapps::trace {

/// A number of every observation.
struct TraceField {
  std::string name;
  std::string unit;
  std::string source;    // who counts it
  bool counter = false;  // only ever rises
  bool real = false;     // the bits of a double; all others are integers
  Coding coding = Coding::kDifference;
};

struct TraceHeader {
  std::string schema;  // schema_hex() of the hash of schema_text
  std::string schema_text;
  std::vector<TraceField> fields;  // in the order of an observation's words
  std::vector<std::string> knobs;  // in the order of the settings, before the weights of the lanes
  std::vector<std::string> lanes;
  std::vector<std::string> holds;  // by their numbers
  std::uint64_t wall_ns = 0;       // since 1970, when the recording began
  std::uint64_t time_ns = 0;       // of the monotonic clock, when the recording began

  /// Numbers of a setting: a knob each, and a weight for each lane.
  std::size_t settings() const noexcept { return knobs.size() + lanes.size(); }
  std::vector<Coding> codings() const;
};

/// schema_text() of plant/schema.h, and all else by whose order or meaning a trace goes, a line each. What is hashed.
std::string trace_schema_text();

/// The header of a trace of this version.
TraceHeader this_header(std::uint64_t wall_ns, std::uint64_t time_ns);

nlohmann::json header_to_json(const TraceHeader& header);
/// The header that a text holds; kCorrupt where it holds none.
Result<TraceHeader> header_from_json(std::string_view text);

}  // namespace drapps::trace
