#include "drapps/text/tokens/token_set.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <string_view>
#include <utility>

#include "drapps/storage/file_window.h"
#include "drapps/text/tokens/megatron_index.h"

namespace drapps::text {
namespace {

constexpr std::uint64_t kMostIds = std::uint64_t{1} << 56;

Error of_file(Error error, const std::string& path) {
  if (error.path.empty()) error.path = path;
  return error;
}

Error bad(ErrorCode code, const std::string& path, std::string message, std::uint64_t offset) {
  return {.code = code, .message = std::move(message), .path = path, .offset = static_cast<std::int64_t>(offset)};
}

bool is_signed(Dtype dtype) noexcept {
  return dtype == Dtype::kInt8 || dtype == Dtype::kInt16 || dtype == Dtype::kInt32 || dtype == Dtype::kInt64;
}

}  // namespace

TokenPiece TokenSet::piece(std::uint64_t first, std::uint64_t most) const noexcept {
  const auto behind = std::ranges::upper_bound(runs_, first, {}, &Run::first);
  const Run& run = *(behind - 1);
  const std::uint64_t skipped = first - run.first;
  const std::size_t width = size_of(run.dtype);
  const TokenFile& file = *files_[run.file];
  TokenPiece piece{.at = {},
                   .first = first,
                   .ids = std::min(most, run.ids - skipped),
                   .dtype = run.dtype,
                   .offset = run.offset + skipped * width,
                   .file = run.file,
                   .path = &file.path,
                   .begins = run.begins && skipped == 0};
  if (run.memory != nullptr) {
    piece.at.bytes = {run.memory + skipped * width, piece.ids * width};
  } else {
    piece.at = {.path = file.path.c_str(),
                .bytes = {},
                .shard = &file.shard,
                .offset = piece.offset,
                .length = piece.ids * width};
  }
  return piece;
}

std::span<const std::uint64_t> TokenSet::documents(std::uint64_t first, std::uint64_t end) const noexcept {
  const auto begin = std::ranges::lower_bound(documents_, first);
  return {begin, std::lower_bound(begin, documents_.end(), end)};
}

std::uint64_t TokenSet::limit(Dtype dtype) const noexcept {
  const std::size_t bits = size_of(dtype) * 8 - (is_signed(dtype) || dtype == Dtype::kUint64 ? 1 : 0);
  const std::uint64_t largest = (std::uint64_t{1} << bits) - 1;
  return options_.vocabulary == 0 ? largest : std::min(largest, options_.vocabulary - 1);
}

void TokenSet::sum_up() {
  std::uint64_t sum = mixed(runs_.size());
  const auto add = [&](std::uint64_t number) { sum = mixed(sum ^ mixed(number + 0x9E37'79B9'7F4A'7C15u)); };
  for (const auto& file : files_) {
    const std::string name = std::filesystem::path(file->path).filename().native();
    add(name.size());
    for (const char c : name) add(static_cast<unsigned char>(c));
  }
  for (const Run& run : runs_) {
    add(run.file);
    add(static_cast<std::uint64_t>(run.dtype));
    add(run.offset);
    add(run.ids);
  }
  fingerprint_ = sum;
}

Result<std::uint64_t> TokenSet::Builder::add_file(const std::string& path) {
  auto window = FileWindow::open(path.c_str());
  if (!window.ok()) return of_file(std::move(window).error(), path);
  auto file = std::make_unique<TokenFile>();
  file->path = path;
  file->shard.set_identity(window->identity());
  set_->files_.push_back(std::move(file));
  return window->size();
}

void TokenSet::Builder::add_run(Dtype dtype, std::uint64_t offset, std::uint64_t ids, const std::uint8_t* memory) {
  if (ids == 0) return;
  const auto file = static_cast<std::uint32_t>(set_->files_.size() - 1);
  const bool begins = set_->runs_.empty() || set_->runs_.back().file != file;
  set_->runs_.push_back({file, dtype, begins, offset, memory, set_->size_, ids});
  set_->size_ += ids;
}

Status TokenSet::Builder::add_documents(const std::string& path, std::uint64_t first,
                                        std::span<const std::uint64_t> documents) {
  if (set_->options_.documents != DocumentsBy::kIndex) return ok_status();
  std::vector<std::uint64_t>& all = set_->documents_;
  for (const std::uint64_t document : documents) {
    if (document >= set_->size_ - first || (!all.empty() && first + document <= all.back())) {
      return bad(ErrorCode::kInvalidArgument, path, "the beginnings of documents must ascend, within the file's ids",
                 0);
    }
    all.push_back(first + document);
  }
  return ok_status();
}

Status TokenSet::Builder::add_plain(const std::string& path, Dtype dtype, std::uint64_t header) {
  auto size = add_file(path);
  if (!size.ok()) return std::move(size).error();
  const std::size_t width = size_of(dtype);
  if (*size < header) {
    return bad(ErrorCode::kTruncated, path,
               "the file ends before its header of " + std::to_string(header) + " bytes does", *size);
  }
  if (const std::uint64_t rest = (*size - header) % width; rest != 0) {
    return bad(ErrorCode::kTruncated, path,
               std::to_string(rest) + " bytes are left behind the last whole id of " + std::string(name_of(dtype)) +
                   "; name the dtype that the file has, or restore it",
               *size - rest);
  }
  add_run(dtype, header, (*size - header) / width);
  return ok_status();
}

Status TokenSet::Builder::add_megatron(const std::string& bin, const std::string& index) {
  auto window = FileWindow::open(index.c_str());
  if (!window.ok()) return of_file(std::move(window).error(), index);
  auto read = read_megatron_index(*window, set_->options_.documents == DocumentsBy::kIndex);
  if (!read.ok()) return of_file(std::move(read).error(), index);
  auto size = add_file(bin);
  if (!size.ok()) return std::move(size).error();
  const std::uint64_t expected = read->ids * size_of(read->dtype);
  if (*size != expected) {
    return bad(*size < expected ? ErrorCode::kTruncated : ErrorCode::kCorrupt, bin,
               "the file has " + std::to_string(*size) + " bytes, and its index lists " + std::to_string(read->ids) +
                   " ids of " + std::string(name_of(read->dtype)) + " in " + std::to_string(expected) +
                   ": the two do not belong together, or one is not whole",
               std::min(*size, expected));
  }
  const std::uint64_t first = set_->size_;
  add_run(read->dtype, 0, read->ids);
  return add_documents(bin, first, read->documents);
}

Status TokenSet::Builder::add_ranges(const std::string& path, Dtype dtype, std::span<const Range> ranges,
                                     std::span<const std::uint64_t> documents) {
  auto size = add_file(path);
  if (!size.ok()) return std::move(size).error();
  const std::uint64_t first = set_->size_;
  for (const Range& range : ranges) {
    if (range.offset > *size || range.ids > (*size - range.offset) / size_of(dtype)) {
      return bad(ErrorCode::kTruncated, path, std::to_string(range.ids) + " ids do not lie in the file", range.offset);
    }
    add_run(dtype, range.offset, range.ids);
  }
  return add_documents(path, first, documents);
}

Status TokenSet::Builder::add_memory(const std::string& path, Dtype dtype, std::span<const std::uint8_t> bytes,
                                     std::shared_ptr<const void> owner, std::span<const std::uint64_t> documents) {
  auto file = std::make_unique<TokenFile>();
  file->path = path;
  set_->files_.push_back(std::move(file));
  set_->owners_.push_back(std::move(owner));
  const std::uint64_t first = set_->size_;
  add_run(dtype, 0, bytes.size() / size_of(dtype), bytes.data());
  return add_documents(path, first, documents);
}

Result<std::shared_ptr<const TokenSet>> TokenSet::Builder::finish() && {
  if (set_->size_ == 0) return invalid("there are no ids: all files are empty, or none was named");
  if (set_->size_ > kMostIds) return invalid("there are more ids than a set can have");
  set_->sum_up();
  return std::shared_ptr<const TokenSet>(std::move(set_));
}

}  // namespace drapps::text
