#include "drapps/storage/reader.h"

#include <cstdlib>
#include <string>
#include <string_view>

#include "drapps/storage/pread_reader.h"
#include "drapps/storage/uring_reader.h"

namespace drapps {

Result<std::unique_ptr<Reader>> make_reader(const ReaderOptions& options, ReadSink& sink) {
  ReaderKind kind = options.kind;
  const char* const forced = std::getenv("DRAPPS_IO");
  if (kind == ReaderKind::kAuto && forced != nullptr && *forced != '\0') {
    const std::string_view name = forced;
    if (name != "pread" && name != "uring") {
      return Error{.code = ErrorCode::kInvalidArgument,
                   .message = "DRAPPS_IO is '" + std::string(name) + "'; it may be 'pread' or 'uring'"};
    }
    kind = name == "pread" ? ReaderKind::kPread : ReaderKind::kUring;
  }
  if (kind == ReaderKind::kPread) return PreadReader::make(options, sink);
  Result<std::unique_ptr<Reader>> reader = UringReader::make(options, sink);
  if (reader.ok() || kind == ReaderKind::kUring) return reader;
  return PreadReader::make(options, sink);
}

}  // namespace drapps
