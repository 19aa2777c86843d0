// Any bytes are read as a trace up to where they are none, and what is read replays or is refused. Each input is taken
// as it is, and with checksums that fit.
#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <vector>

#include "drapps/decode/crc32.h"
#include "drapps/trace/encoder.h"
#include "drapps/trace/replay.h"

namespace drapps::trace {
namespace {

Reader::Input input_of(std::span<const std::uint8_t> bytes) {
  return [bytes](std::span<std::uint8_t> into) mutable -> Result<std::size_t> {
    const std::size_t size = std::min(into.size(), bytes.size());
    std::copy_n(bytes.begin(), size, into.begin());
    bytes = bytes.subspan(size);
    return size;
  };
}

void try_reading(std::span<const std::uint8_t> bytes) {
  const auto reader = Reader::of(input_of(bytes));
  if (!reader.ok()) {
    if (reader.error().message.empty()) std::abort();
    return;
  }
  const Header& header = (*reader)->header();
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

void try_replaying(std::span<const std::uint8_t> bytes) {
  const auto reader = Reader::of(input_of(bytes));
  if (!reader.ok()) return;
  const auto done = replay(**reader);
  if (done.ok() &&
      (done->equal > done->decisions || (done->equal == done->decisions) != done->first_difference.empty())) {
    std::abort();
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

/// The bytes as the records behind a header of this version: no fuzzer finds that by itself.
std::vector<std::uint8_t> behind_a_header(std::span<const std::uint8_t> records) {
  static const std::vector<std::uint8_t> kHeader = [] {
    Encoder encoder;
    std::vector<std::uint8_t> bytes(kMagic.begin(), kMagic.end());
    put_fixed32(bytes, kVersion);
    Bytes payload = encoder.text(Tag::kHeader, header_to_json(this_header(0, 0)).dump());
    const Bytes about = encoder.text(Tag::kAbout, "{}");
    payload.insert(payload.end(), about.begin(), about.end());
    put_fixed32(bytes, 0);
    put_fixed32(bytes, static_cast<std::uint32_t>(payload.size()));
    bytes.insert(bytes.end(), payload.begin(), payload.end());
    return bytes;
  }();
  std::vector<std::uint8_t> bytes = kHeader;
  put_fixed32(bytes, 0);
  put_fixed32(bytes, static_cast<std::uint32_t>(records.size()));
  bytes.insert(bytes.end(), records.begin(), records.end());
  correct(bytes);
  return bytes;
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
  try_replaying(corrected);
  try_replaying(behind_a_header(bytes));
  return 0;
}
