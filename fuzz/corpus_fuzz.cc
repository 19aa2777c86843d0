// What reads documents must hold for any bytes at all: no fault, an end, documents in UTF-8 and none empty, errors that
// name the file. Each input is taken for a file of lines, of JSON lines and of one document; the first two bytes choose
// whether it is compressed first, so that what lies behind is reached too. Lines by number are those by block. And it
// is taken for an Arrow file, in which its first bytes say where strings lie.
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "drapps/text/corpus/arrow_strings.h"
#include "drapps/text/corpus/corpus.h"
#include "drapps/text/corpus/document_index.h"
#include "drapps/text/corpus/document_reader.h"
#include "drapps/text/unicode/utf8_repair.h"

namespace drapps::text {
namespace {

constexpr std::size_t kMost = 4096;  // bytes of a document

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

/// Adds the good documents.
void add(const DocumentChunk& chunk, const std::string& path, std::vector<std::string>& documents) {
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

/// All good documents, by blocks.
std::vector<std::string> read(const std::string& path, const Corpus& corpus) {
  std::vector<std::string> documents;
  for (const Block& block : corpus.blocks()) {
    const auto reader = read_documents({corpus, *Storage::files(), MemoryLedger::unlimited()}, block);
    DocumentChunk chunk;
    while (*reader->next(chunk)) add(chunk, path, documents);
  }
  return documents;
}

std::vector<std::string> read(const std::string& path, DocumentFormat format) {
  const auto corpus = Corpus::open({path}, {.format = format, .max_document = kMost});
  if (corpus.ok()) return read(path, **corpus);
  require(!corpus.error().message.empty());
  return {};
}

/// All good documents, one by one.
std::vector<std::string> read_numbered(const std::string& path, const Corpus& corpus) {
  std::vector<std::string> documents;
  const auto reader = corpus.index()->open({corpus, *Storage::files(), MemoryLedger::unlimited()});
  for (std::uint64_t number = 0; number < corpus.index()->size(); ++number) {
    DocumentChunk chunk;
    require(reader->read(number, chunk).ok());
    add(chunk, path, documents);
  }
  return documents;
}

/// Lines by number, where they are not compressed.
std::vector<std::string> read_numbered(const std::string& path, DocumentFormat format) {
  const auto corpus = Corpus::open({path}, {.format = format, .max_document = kMost, .by_number = true});
  return corpus.ok() ? read_numbered(path, **corpus) : std::vector<std::string>();
}

/// Strings of a run that the bytes describe; documents by blocks are those by number where no offset lies.
void read_strings(const std::string& path, const std::uint8_t* data, std::size_t size) {
  if (size < 8) return;
  const auto place = [&](std::size_t i) { return data[i] * std::uint64_t{4} % size; };
  const ArrowRun run{.rows = data[0] % std::uint64_t{64},
                     .offsets = place(1),
                     .width = data[2] % 2 == 0 ? std::uint64_t{4} : 8,
                     .content = place(3),
                     .bytes = data[4] % (size - place(3) + 1),
                     .validity = place(5)};
  const auto corpus = Corpus::arrow({path}, {run}, {.max_document = kMost, .by_number = true});
  if (!corpus.ok()) return require(corpus.error().code == ErrorCode::kTruncated);
  const auto by_block = read(path, **corpus);
  const auto by_number = read_numbered(path, **corpus);
  require(by_block.empty() || by_block == by_number);
}

/// Perhaps.
bool is_compressed(const std::string& bytes) {
  const auto at = [&](std::size_t i) { return i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0; };
  return (at(0) == 0x1F && at(1) == 0x8B) || (at(3) == 0xFD && at(2) == 0x2F) || at(3) == 0x18;
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
    const bool numbered = format != DocumentFormat::kFiles;
    require(!numbered || read_numbered(file_of(bytes), format) == plain || is_compressed(bytes));
    if (size < 4 || is_compressed(bytes)) continue;
    require(read(file_of(compressed(bytes, data[0] % size)), format) == plain);
  }
  read_strings(file_of(bytes), data, size);
  return 0;
}
