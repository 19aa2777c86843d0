#include "drapps/decode/jpeg/scan_bytes.h"

#include <algorithm>
#include <cstring>

#include "drapps/decode/crc32.h"
#include "drapps/kernel/jpeg/huffman.h"
#include "drapps/kernel/jpeg/unstuff.h"

namespace drapps::jpeg {

std::size_t unstuff_scan(std::uint8_t* out, std::span<const std::uint8_t> bytes, std::size_t from,
                         std::vector<std::uint32_t>& restarts, kernel::Level level) {
  restarts.clear();
  std::size_t written = 0;
  while (true) {
    const auto part = kernel::jpeg::unstuff(out + written, bytes.data() + from, bytes.size() - from, level);
    written += part.written;
    from += part.read;
    // The end marker follows, or, as the structural check has seen, the next restart marker.
    if (bytes.size() - from < 2 || (bytes[from + 1] & 0xF8) != 0xD0) break;
    restarts.push_back(static_cast<std::uint32_t>(written));
    from += 2;
  }
  std::memset(out + written, 0, kernel::jpeg::kScanPadding);
  return written;
}

IndexShape shape_of(const Frame& frame, std::span<const std::uint8_t> bytes, std::uint32_t group) noexcept {
  // The end of the headers, where the tables and sizes are; what stands before may be a whole thumbnail.
  constexpr std::size_t kEnd = 1024;
  const auto headers = bytes.first(frame.scan_begin);
  return {.mcus_across = static_cast<std::uint32_t>(frame.mcus_across()),
          .mcus_down = static_cast<std::uint32_t>(frame.mcus_down()),
          .group = group,
          .headers = crc32(headers.last(std::min(headers.size(), kEnd))),
          .file_bytes = bytes.size()};
}

}  // namespace drapps::jpeg
