// What went wrong, where, and what to do about it.
//
// An Error describes a bad sample or a failed resource. It is data: it travels in a
// Result, follows the loader's `on_error` policy and is listed among the bad samples. Wrong *use* of
// an interface is the other kind of failure and is reported before the first batch.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace drapps {

enum class ErrorCode : std::uint8_t {
  kInvalidArgument,    // the request itself makes no sense
  kNotFound,           // the file is gone
  kPermission,         // the file may not be read
  kIo,                 // the storage failed
  kUnavailable,        // the storage refuses for now, and was asked again until the deadline
  kTruncated,          // the data ends before its format says so
  kCorrupt,            // the data contradicts its format
  kUnsupported,        // well formed, but nothing here reads it
  kTooLarge,           // larger than the limit that guards memory
  kResourceExhausted,  // a budget or the system has no more to give
  kCancelled,          // stopped on request
  kInternal,           // an exception that nothing here expects
  kDeviceLost,         // a device answers no more, or what ran on it has failed
  kNoGoodData,         // nothing of all that is there can be used
};

/// Stage of the data plane in which an error arose.
enum class Stage : std::uint8_t { kSetup, kFetch, kDecode, kAugment, kBatch, kDeliver };

struct Error {
  ErrorCode code = ErrorCode::kInvalidArgument;
  Stage stage = Stage::kSetup;
  std::string message{};     // what was wrong, then what to do; no path, no offset
  std::string path{};        // the file or sample, empty where there is none
  std::int64_t offset = -1;  // byte in that file at which it was noticed, or -1
  std::int64_t index = -1;   // index of the sample in its source, or -1

  /// One line: "decode: truncated: <path> at byte <offset>: <message>".
  std::string to_string() const;
};

/// Wrong use of an interface; `message` as in Error.
Error invalid(std::string message, Stage stage = Stage::kSetup);

std::string_view name_of(ErrorCode code) noexcept;
std::string_view name_of(Stage stage) noexcept;

}  // namespace drapps
