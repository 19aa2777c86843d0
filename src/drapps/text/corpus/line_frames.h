// A file of lines, cut into pieces of whole lines that are compressed each by itself: what can be read from many
// places.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "drapps/base/result.h"
#include "drapps/text/corpus/content_reader.h"
#include "drapps/text/corpus/corpus.h"

namespace drapps::text {

/// The content of one file, plain or compressed. One thread.
class LineFrames {
 public:
  /// @param file  of the corpus, whose files are lines and none of them empty.
  LineFrames(const CorpusAccess& access, std::uint32_t file);

  /// The lines that come next: the fewest that have `kContent` bytes together, or all that are left. False at the end
  /// of the file. An error says at which byte of the file, and is the last answer but kResourceExhausted.
  Result<bool> next(std::string& lines);

  static constexpr std::size_t kContent = std::size_t{1} << 20;

 private:
  const std::string& path_;
  ContentReader reader_;
  std::string content_;
  bool ended_ = false;
};

/// A frame of zstd with its content's size and checksum. Throws std::bad_alloc without memory.
std::string zstd_frame_of(std::string_view content, int level);

}  // namespace drapps::text
