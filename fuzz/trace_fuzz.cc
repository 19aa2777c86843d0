// Any bytes are read as a trace up to where they are none, and what is read replays or is refused. Each input is taken
// as it is, and with checksums that fit.
#include <algorithm>
#include <cstdlib>
#include <vector>

#include "drapps/decode/crc32.h"
#include "drapps/trace/replay.h"

namespace drapps::trace {
namespace {

TraceReader::Input input_of(std::span<const std::uint8_t> bytes) {
  return [bytes](std::span<std::uint8_t> into) mutable -> Result<std::size_t> {
    const std::size_t size = std::min(into.size(), bytes.size());
    std::copy_n(bytes.begin(), size, into.begin());
    bytes = bytes.subspan(size);
    return size;
  };
}

void try_reading(std::span<const std::uint8_t> bytes) {
  const auto reader = TraceReader::of(input_of(bytes));
  if (!reader.ok()) {
    if (reader.error().message.empty()) std::abort();
    return;
  }
  const TraceHeader& header = (*reader)->header();
  for (;;) {
    const auto entry = (*reader)->next();
    if (!entry.ok() || !*entry) break;
    const auto* decision = std::get_if<DecisionRead>(&**entry);
    if (decision == nullptr) continue;
    if (decision->words.size() != header.fields.size() || decision->applied.size() != header.settings() ||
        decision->holds.size() != header.knobs.size() + 1) {
      std::abort();
    }
  }
}

/// Corrects the checksum of every block.
void correct(std::vector<std::uint8_t>& bytes) {
  for (std::size_t at = kPreamble; at + kBlockHead < bytes.size();) {
    std::size_t length = 0;
    for (std::size_t i = 0; i < 4; ++i) length |= std::size_t{bytes[at + 4 + i]} << 8 * i;
    if (length > bytes.size() - at - kBlockHead) return;
    const std::uint32_t sum = crc32(std::span(bytes).subspan(at + 4, length + 4));
    for (std::size_t i = 0; i < 4; ++i) bytes[at + i] = static_cast<std::uint8_t>(sum >> 8 * i);
    at += kBlockHead + length;
  }
}

/// As the records behind a header of this version: no fuzzer finds that by itself.
void try_records(std::span<const std::uint8_t> bytes) {
  static const TraceHeader kHeader = this_header(0, 0);
  TraceDecoder decoder(kHeader);
  Replayer replayer("");
  for (ByteCursor in(bytes); !in.empty();) {
    const auto tag = static_cast<Tag>(in.byte());
    const auto content = in.take(in.number());
    if (!in.ok()) return;
    const auto entry = decoder.read(tag, content);
    if (!entry.ok() || !replayer.take(*entry).ok()) return;
    const Replay& done = replayer.done();
    if (done.equal > done.decisions || (done.equal == done.decisions) != done.first_difference.empty()) std::abort();
  }
}

}  // namespace
}  // namespace drapps::trace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace drapps::trace;
  const std::span<const std::uint8_t> bytes(data, size);
  try_reading(bytes);
  std::vector<std::uint8_t> corrected(bytes.begin(), bytes.end());
  correct(corrected);
  if (!std::equal(bytes.begin(), bytes.end(), corrected.begin())) try_reading(corrected);
  try_records(bytes);
  return 0;
}
