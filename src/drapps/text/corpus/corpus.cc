#include "drapps/text/corpus/corpus.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "drapps/storage/file_window.h"
#include "drapps/text/corpus/zstd_frames.h"

namespace drapps::text {
namespace {

constexpr std::uint64_t kBlockBytes = std::uint64_t{1} << 20;
// Text in a zstd file has some four times as many bytes.
constexpr std::uint64_t kTypicalRatio = 4;

Result<Compression> compression_of(FileWindow& window) {
  auto head = window.read(0, std::min<std::uint64_t>(window.size(), 4));
  if (!head.ok()) return std::move(head).error();
  if (begins_zstd(*head)) return Compression::kZstd;
  const bool gzip = head->size() >= 2 && (*head)[0] == 0x1F && (*head)[1] == 0x8B;
  return gzip ? Compression::kGzip : Compression::kNone;
}

}  // namespace

Result<std::shared_ptr<const Corpus>> Corpus::open(const std::vector<std::string>& paths, CorpusOptions options) {
  std::shared_ptr<Corpus> corpus(new Corpus(std::move(options)));
  for (const std::string& path : paths) {
    if (Status status = corpus->add(path); !status.ok()) {
      status.error().path = path;
      return std::move(status).error();
    }
  }
  if (corpus->blocks_.empty()) return invalid("there are no documents: all files are empty, or none was named");
  corpus->sum_up();
  return std::shared_ptr<const Corpus>(std::move(corpus));
}

Result<std::shared_ptr<const Corpus>> Corpus::foreign(const std::vector<std::string>& paths,
                                                      const std::vector<std::uint64_t>& sizes,
                                                      std::vector<Block> blocks,
                                                      std::shared_ptr<const ForeignDocuments> reader) {
  if (blocks.empty()) return invalid("there are no documents: all files are empty, or none was named");
  if (sizes.size() != paths.size()) return invalid("there must be a size for each file");
  for (const Block& block : blocks) {
    if (block.file >= paths.size()) return invalid("a block is of no file");
  }
  std::shared_ptr<Corpus> corpus(new Corpus(CorpusOptions{}));
  for (std::size_t i = 0; i < paths.size(); ++i) {
    corpus->files_.push_back(std::make_unique<File>());
    corpus->files_.back()->path = paths[i];
    corpus->files_.back()->size = sizes[i];
    corpus->bytes_ += sizes[i];
  }
  corpus->blocks_ = std::move(blocks);
  corpus->foreign_ = std::move(reader);
  corpus->sum_up();
  return std::shared_ptr<const Corpus>(std::move(corpus));
}

Status Corpus::add(const std::string& path) {
  auto window = FileWindow::open(path.c_str());
  if (!window.ok()) return std::move(window).error();
  auto compression = compression_of(*window);
  if (!compression.ok()) return std::move(compression).error();
  auto file = std::make_unique<File>();
  file->path = path;
  file->compression = *compression;
  file->size = window->size();
  file->shard.set_identity(window->identity());
  const auto number = static_cast<std::uint32_t>(files_.size());
  const std::uint64_t size = file->size;
  std::uint64_t& first = file->first;
  files_.push_back(std::move(file));
  bytes_ += size;
  if (size == 0) return ok_status();
  if (options_.format == DocumentFormat::kFiles || *compression == Compression::kGzip) {
    blocks_.push_back({number, 0, size});
    return ok_status();
  }
  if (*compression == Compression::kNone) {
    for (std::uint64_t offset = 0; offset < size; offset += kBlockBytes) {
      blocks_.push_back({number, offset, std::min(kBlockBytes, size - offset)});
    }
    return ok_status();
  }
  // Small frames make a block together.
  std::uint64_t content = 0;
  bool open = false;
  Status status = for_each_frame(*window, [&](const ZstdFrame& frame) {
    if (blocks_.empty() || blocks_.back().file != number) first = frame.offset;
    if (!open) blocks_.push_back({number, frame.offset, 0});
    blocks_.back().length += frame.length;
    content += frame.content != 0 ? frame.content : frame.length * kTypicalRatio;
    open = content < kBlockBytes;
    if (!open) content = 0;
  });
  DRAPPS_RETURN_IF_ERROR(std::move(status));
  return window->check_unchanged();
}

void Corpus::sum_up() {
  std::uint64_t sum = mixed(static_cast<std::uint64_t>(options_.format) + 1);
  const auto add = [&](std::uint64_t number) { sum = mixed(sum ^ mixed(number + 0x9E37'79B9'7F4A'7C15u)); };
  const auto add_text = [&](std::string_view text) {
    add(text.size());
    for (const char c : text) add(static_cast<unsigned char>(c));
  };
  if (options_.format == DocumentFormat::kJsonLines) add_text(options_.field);
  for (const auto& file : files_) {
    add_text(std::filesystem::path(file->path).filename().native());
    add(file->size);
  }
  for (const Block& block : blocks_) {
    add(block.file);
    add(block.offset);
    add(block.length);
  }
  fingerprint_ = sum;
}

}  // namespace drapps::text
