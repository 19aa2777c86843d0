// What reads documents must hold for any bytes at all: no fault, an end, documents in UTF-8 and none empty, errors that
// name the file. Each input is taken for a file of lines, of JSON lines and of one document; the first two bytes choose
// whether it is compressed first, so that what lies behind is reached too.
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "drapps/text/corpus/corpus.h"
#include "drapps/text/corpus/document_reader.h"
#include "drapps/text/unicode/utf8_repair.h"

namespace drapps::text {
namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

/// A file that has the bytes, until the next call.
std::string file_of(const std::string& bytes) {
  static const int fd = memfd_create("corpus", 0);
  require(fd >= 0 && ftruncate(fd, 0) == 0);
  require(pwrite(fd, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  return "/proc/self/fd/" + std::to_string(fd);
}

/// All good documents.
std::vector<std::string> read(const std::string& path, DocumentFormat format) {
  std::vector<std::string> documents;
  auto corpus = Corpus::open({path}, {.format = format, .max_document = 4096});
  if (!corpus.ok()) {
    require(!corpus.error().message.empty());
    return documents;
  }
  for (const Block& block : (*corpus)->blocks()) {
    const auto reader = read_documents({**corpus, *Storage::files(), MemoryLedger::unlimited()}, block);
    DocumentChunk chunk;
    while (*reader->next(chunk)) {
      for (const auto& one : chunk.each) {
        if (one.error >= 0) {
          const Error& error = chunk.errors[static_cast<std::size_t>(one.error)];
          require(error.path == path && !error.message.empty() && error.offset >= 0);
          continue;
        }
        const std::string text(chunk.at(one));
        std::string repaired;
        require(!text.empty() && !repair_utf8(text, repaired));
        documents.push_back(text);
      }
    }
  }
  return documents;
}

std::string compressed(const std::string& bytes, std::size_t cut) {
  std::string frames;
  for (const std::string& part : {bytes.substr(0, cut), bytes.substr(cut)}) {
    std::string frame(ZSTD_compressBound(part.size()), '\0');
    frame.resize(ZSTD_compress(frame.data(), frame.size(), part.data(), part.size(), 1));
    frames += frame;
  }
  return frames;
}

}  // namespace
}  // namespace drapps::text

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace drapps::text;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  for (const auto format : {DocumentFormat::kLines, DocumentFormat::kJsonLines, DocumentFormat::kFiles}) {
    const auto plain = read(file_of(bytes), format);
    if (size < 4 || (data[0] == 0x1F && data[1] == 0x8B) || (data[3] == 0xFD && data[2] == 0x2F) || data[3] == 0x18) {
      continue;  // it is compressed itself, perhaps
    }
    require(read(file_of(compressed(bytes, data[0] % size)), format) == plain);
  }
  return 0;
}
