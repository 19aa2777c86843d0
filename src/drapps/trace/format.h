// The format of a trace. All numbers are little-endian; docs/reference/trace-format.md says the same in words.
//
//     file   = "DRAPPSTR", version (4 bytes), block…
//     block  = CRC-32 of the rest of the block (4 bytes), length of the payload (4 bytes), payload
//     payload = record…
//     record = tag (1 byte), length (LEB128), content
//
// Blocks are only ever appended, and a record lies in one of them: wherever a file is cut off, it is a trace up to its
// last whole block. The first block begins with kHeader and kAbout. Weights that a kRenewed names lie in the folder of
// the trace, each in a file of its own (policy/weights_file.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace drapps::trace {

inline constexpr std::string_view kMagic = "DRAPPSTR";
inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::size_t kPreamble = kMagic.size() + 4;
inline constexpr std::size_t kBlockHead = 8;
inline constexpr std::uint32_t kMostBlockBytes = 16 << 20;

enum class Tag : std::uint8_t {
  kHeader = 1,  // JSON of a TraceHeader
  kAbout,       // JSON of who records: plan, machine
  kBegan,       // the state of guard and policy in which the recording begins
  kLimits,      // the limits in force from here on
  kDecision,
  kSwapped,  // another policy from here on, which remembers nothing
  kFrozen,
  kUnfrozen,
  kPass,     // a pass begins
  kStopped,  // the control plane has stopped
  kEnded,    // the recording has ended; the last record
  kRenewed,  // other weights of the same policy from here on, by their hash; it remembers what it did
};

/// The most bytes of a decision with its samples, so that two a second make 10 MB an hour with blocks and header.
/// Samples are left out for it.
inline constexpr std::size_t kDecisionBytes = 1376;
inline constexpr std::size_t kMostSamples = 32;
inline constexpr std::size_t kMostText = 4096;  // of a reason

}  // namespace drapps::trace
