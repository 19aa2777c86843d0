#include "drapps/base/error.h"

#include <utility>

namespace drapps {

Error invalid(std::string message, Stage stage) {
  return {.code = ErrorCode::kInvalidArgument, .stage = stage, .message = std::move(message)};
}

std::string_view name_of(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::kInvalidArgument: return "invalid argument";
    case ErrorCode::kNotFound: return "not found";
    case ErrorCode::kPermission: return "permission denied";
    case ErrorCode::kIo: return "I/O error";
    case ErrorCode::kUnavailable: return "unavailable";
    case ErrorCode::kTruncated: return "truncated";
    case ErrorCode::kCorrupt: return "corrupt";
    case ErrorCode::kUnsupported: return "unsupported";
    case ErrorCode::kTooLarge: return "too large";
    case ErrorCode::kResourceExhausted: return "resource exhausted";
    case ErrorCode::kCancelled: return "cancelled";
    case ErrorCode::kInternal: return "internal error";
    case ErrorCode::kDeviceLost: return "device lost";
    case ErrorCode::kNoGoodData: return "no good data";
  }
  return "unknown";
}

std::string_view name_of(Stage stage) noexcept {
  switch (stage) {
    case Stage::kSetup: return "setup";
    case Stage::kFetch: return "fetch";
    case Stage::kDecode: return "decode";
    case Stage::kAugment: return "augment";
    case Stage::kBatch: return "batch";
    case Stage::kDeliver: return "deliver";
  }
  return "unknown";
}

std::string Error::to_string() const {
  std::string text;
  text.append(name_of(stage)).append(": ").append(name_of(code)).append(": ");
  if (!path.empty()) {
    text.append(path);
    if (offset >= 0) text.append(" at byte ").append(std::to_string(offset));
    text.append(": ");
  }
  return text.append(message);
}

}  // namespace drapps
