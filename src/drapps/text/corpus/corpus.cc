#include "drapps/text/corpus/corpus.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "drapps/text/corpus/arrow_strings.h"
#include "drapps/text/corpus/line_index.h"
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

Error no_documents() { return invalid("there are no documents: all files are empty, or none was named"); }

}  // namespace

Result<std::shared_ptr<const Corpus>> Corpus::open(const std::vector<std::string>& paths, CorpusOptions options) {
  std::shared_ptr<Corpus> corpus(new Corpus(std::move(options)));
  std::shared_ptr<LineIndex> lines;
  if (corpus->options_.by_number && corpus->options_.format != DocumentFormat::kFiles) {
    lines = std::make_shared<LineIndex>();
  }
  for (const std::string& path : paths) {
    if (Status status = corpus->add(path, lines.get()); !status.ok()) {
      status.error().path = path;
      return std::move(status).error();
    }
  }
  if (corpus->blocks_.empty() || (lines != nullptr && lines->size() == 0)) return no_documents();
  corpus->index_ = std::move(lines);
  corpus->sum_up();
  return std::shared_ptr<const Corpus>(std::move(corpus));
}

Result<std::shared_ptr<const Corpus>> Corpus::arrow(const std::vector<std::string>& paths, std::vector<ArrowRun> runs,
                                                    CorpusOptions options) {
  std::shared_ptr<Corpus> corpus(new Corpus(std::move(options)));
  for (const std::string& path : paths) {
    if (auto window = corpus->add_file(path); !window.ok()) {
      window.error().path = path;
      return std::move(window).error();
    }
  }
  for (const ArrowRun& run : runs) {
    if (run.file >= paths.size() || (run.width != 4 && run.width != 8))
      return invalid("a run of strings is of no file");
    const std::uint64_t size = corpus->files_[run.file]->size;
    const auto lies = [size](std::uint64_t offset, std::uint64_t bytes) {
      return offset <= size && bytes <= size - offset;
    };
    const bool few = run.rows > 0 && run.rows < size;
    if (few && lies(run.offsets, (run.rows + 1) * run.width) && lies(run.content, run.bytes) &&
        (run.validity == 0 || lies(run.validity, (run.rows + 7) / 8))) {
      continue;
    }
    return Error{.code = ErrorCode::kTruncated,
                 .stage = Stage::kSetup,
                 .message = "strings of the Arrow file do not lie in it; copy the file here once more",
                 .path = paths[run.file]};
  }
  if (runs.empty()) return no_documents();
  auto strings = std::make_shared<ArrowStrings>(std::move(runs));
  corpus->blocks_ = strings->blocks();
  corpus->foreign_ = strings;
  if (corpus->options_.by_number) corpus->index_ = strings;
  corpus->sum_up();
  return std::shared_ptr<const Corpus>(std::move(corpus));
}

Result<std::shared_ptr<const Corpus>> Corpus::foreign(const std::vector<std::string>& paths,
                                                      const std::vector<std::uint64_t>& sizes,
                                                      std::vector<Block> blocks,
                                                      std::shared_ptr<const ForeignDocuments> reader) {
  if (blocks.empty()) return no_documents();
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

Location Corpus::range(std::uint32_t file, std::uint64_t offset, std::uint64_t length) const noexcept {
  return {.path = files_[file]->path.c_str(),
          .bytes = {},
          .shard = &files_[file]->shard,
          .offset = offset,
          .length = length,
          .contents = {}};
}

std::uint64_t Corpus::dealt() const noexcept { return index_ == nullptr ? blocks_.size() : index_->size(); }

std::uint64_t Corpus::most_splits() const noexcept {
  return index_ == nullptr ? blocks_.size() : (index_->size() + kLeastDocuments - 1) / kLeastDocuments;
}

/// Adds a file whose content is still to be listed.
Result<FileWindow> Corpus::add_file(const std::string& path) {
  auto window = FileWindow::open(path.c_str());
  if (!window.ok()) return window;
  auto file = std::make_unique<File>();
  file->path = path;
  file->size = window->size();
  file->shard.set_identity(window->identity());
  bytes_ += file->size;
  files_.push_back(std::move(file));
  return window;
}

/// @param lines  of all files, which gets those of this one; or null.
Status Corpus::add(const std::string& path, LineIndex* lines) {
  const auto number = static_cast<std::uint32_t>(files_.size());
  auto window = add_file(path);
  if (!window.ok()) return std::move(window).error();
  auto compression = compression_of(*window);
  if (!compression.ok()) return std::move(compression).error();
  files_[number]->compression = *compression;
  const std::uint64_t size = window->size();
  std::uint64_t& first = files_[number]->first;
  if (lines != nullptr) {
    if (*compression != Compression::kNone) {
      return Error{.code = ErrorCode::kUnsupported,
                   .stage = Stage::kSetup,
                   .message =
                       "single documents cannot be read in any order from a compressed file; shuffle blocks, "
                       "or decompress it"};
    }
    DRAPPS_RETURN_IF_ERROR(lines->add(*window));
  }
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
  if (index_ != nullptr) add(index_->size());
  fingerprint_ = sum;
}

}  // namespace drapps::text
