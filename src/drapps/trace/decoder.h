// The reverse of encoder.h, for records of any header.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "drapps/base/result.h"
#include "drapps/trace/entry.h"
#include "drapps/trace/format.h"
#include "drapps/trace/header.h"

namespace drapps::trace {

class TraceDecoder {
 public:
  explicit TraceDecoder(const TraceHeader& header);

  /// The records must come in their order. kCorrupt for what no encoder writes.
  Result<Entry> read(Tag tag, std::span<const std::uint8_t> content);

 private:
  Entry read_entry(Tag tag, ByteCursor& in);
  Began read_began(ByteCursor& in) const;
  DecisionRead read_decision(ByteCursor& in);
  LimitsRead read_limits(ByteCursor& in) const;
  SampleRead read_sample(ByteCursor& in) const;

  const std::size_t knobs_, lanes_, holds_;
  const std::vector<Coding> codings_;
  std::vector<std::uint64_t> words_, proposed_, applied_;
  std::string why_, fault_;
};

}  // namespace drapps::trace
