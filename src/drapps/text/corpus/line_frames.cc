#include "drapps/text/corpus/line_frames.h"

#include <zstd.h>

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

namespace drapps::text {
namespace {

const Block& first_block(const Corpus& corpus, std::uint32_t file) {
  return *std::ranges::find(corpus.blocks(), file, &Block::file);
}

}  // namespace

LineFrames::LineFrames(const CorpusAccess& access, std::uint32_t file)
    : path_(access.corpus.path(file)), reader_(access, first_block(access.corpus, file)) {}

Result<bool> LineFrames::next(std::string& lines) {
  std::size_t end = std::string::npos;
  std::size_t from = kContent - 1;  // where a line feed is looked for: of a long line only what is new
  const auto find = [&] {
    if (content_.size() <= from) return;
    end = content_.find('\n', from);
    from = content_.size();
  };
  for (find(); end == std::string::npos && !ended_; find()) {
    auto at = reader_.read(content_);
    if (!at.ok()) {
      at.error().path = path_;
      return std::move(at).error();
    }
    ended_ = *at == ContentReader::At::kFileEnd;
  }
  const std::size_t size = end == std::string::npos ? content_.size() : end + 1;
  lines.assign(content_, 0, size);
  content_.erase(0, size);
  return size > 0;
}

std::string zstd_frame_of(std::string_view content, int level) {
  const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(), &ZSTD_freeCCtx);
  if (context == nullptr) throw std::bad_alloc();
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, level);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  std::string frame(ZSTD_compressBound(content.size()), '\0');
  const std::size_t size = ZSTD_compress2(context.get(), frame.data(), frame.size(), content.data(), content.size());
  if (ZSTD_isError(size) != 0) throw std::bad_alloc();
  frame.resize(size);
  return frame;
}

}  // namespace drapps::text
