#include "drapps/text/pack/split_reader.h"

#define XXH_INLINE_ALL  // NOLINT(readability-identifier-naming): the name is the library's
#include <xxhash.h>

#include <algorithm>
#include <string>
#include <utility>

#include "drapps/base/caught.h"
#include "drapps/source/permutation.h"
#include "drapps/storage/file_identity.h"
#include "drapps/text/corpus/content_reader.h"

namespace drapps::text {
namespace {

// What a piece takes while it is read: its content, and the texts in it.
constexpr std::size_t kPieceMemory = std::size_t{4} << 20;
// About so many parts a piece is prepared in.
constexpr std::uint32_t kParts = 2;
// A piece of documents by number: some of them, each of which may be a read of its own; or as many as a block wants
// that is packed as a whole.
struct NumberedPiece {
  std::size_t bytes;        // at least, where there are as many
  std::uint32_t documents;  // at most
};
constexpr NumberedPiece kSome = {std::size_t{64} << 10, 256};
constexpr NumberedPiece kOfBlocks = {std::size_t{1} << 20, 1024};

bool packs_blocks(const Packing& packing) { return packing.fit == Fit::kBestFit || packing.fit == Fit::kBudget; }
constexpr std::size_t kBlocksAhead = 32;  // of all splits, each of about 1 MiB

std::size_t bytes_of(const DocumentChunk& chunk) {
  return chunk.text.capacity() + chunk.each.capacity() * sizeof(DocumentChunk::DocumentText);
}

/// Whether a document is taken, by the upper half of its hash, which a double holds exactly.
bool takes(const Packing& packing, std::string_view document) {
  if (packing.take == Take::kAll) return true;
  const std::uint64_t hash = XXH3_64bits(document.data(), document.size());
  const bool held_out = static_cast<double>(hash >> 32) < packing.held_out * 0x1p32;
  return held_out == (packing.take == Take::kHeldOut);
}

}  // namespace

SplitReader::SplitReader(const CorpusAccess& access, const Packing& packing, std::uint32_t split, const PackCursor& at)
    : access_(access),
      packing_(packing),
      split_(split),
      blocks_(access.corpus.dealt(), packing, split, at.epoch),
      numbered_(access.corpus.index() == nullptr ? nullptr : access.corpus.index()->open(access)),
      window_{.begin = {.epoch = at.epoch, .place = at.place, .piece = at.piece}},
      next_epoch_(at.epoch),
      next_place_(std::min(at.place, blocks_.size())),
      next_piece_(at.piece),
      skip_(at.piece),
      skip_documents_(at.document) {
  prefetch_blocks(0);
}

SplitReader::~SplitReader() {
  access_.ledger.release(window_.charged + (ahead_ ? ahead_->charged : 0) + (reserved_ ? kPieceMemory : 0));
}

void SplitReader::begin_epoch(std::uint32_t epoch) {
  next_epoch_ = epoch;
  announced_ = 0;
  blocks_ = SplitBlocks(access_.corpus.dealt(), packing_, split_, epoch);
}

const Block& SplitReader::block(std::uint32_t place) const noexcept {
  return access_.corpus.blocks()[blocks_.at(place)];
}

bool SplitReader::ended() const noexcept {
  return packing_.ends && !filling_ && !ahead_ && next_ == window_.order.size() && next_place_ == blocks_.size();
}

/// The first window is shorter by the split's number, so that not all splits open their next one at once.
std::size_t SplitReader::pieces_of(const DocumentWindow& window) const noexcept {
  if (numbered_ != nullptr && !packs_blocks(packing_)) return 1;  // they are in order already
  const bool first = window.begin.place == 0 && window.begin.piece == 0;
  return first ? split_ % packing_.window + 1 : packing_.window;
}

/// Whether the window that is being read has all its pieces.
bool SplitReader::whole(const DocumentWindow& window) const noexcept {
  return window.chunks.size() >= pieces_of(window) || next_place_ == blocks_.size();
}

/// Whether twice the windows of all splits would leave half of the memory, and half of it is left.
bool SplitReader::memory_abounds() const noexcept {
  const std::size_t limit = access_.ledger.whole().limit();
  return std::uint64_t{packing_.splits} * packing_.window <= limit / (4 * ContentReader::kPiece) &&
         access_.ledger.whole().used() <= limit / 2;
}

Status SplitReader::ready() {
  while (next_ == window_.order.size() && !ended()) {
    if (epochs_without_ > 1) {
      return Error{.code = ErrorCode::kNoGoodData,
                   .stage = Stage::kDecode,
                   .message = "split " + std::to_string(split_) + " of " + std::to_string(packing_.splits) +
                              " has no good documents in a whole epoch; use fewer splits, or look what is bad"};
    }
    DRAPPS_RETURN_IF_ERROR(read_window());
  }
  // What fails now fails again once it is needed.
  if (memory_abounds()) static_cast<void>(catching([&] { return read_ahead(); }));
  return ok_status();
}

/// Where the window begins that no piece has been read of.
PackCursor SplitReader::next_window() const noexcept {
  if (next_place_ == blocks_.size()) return {.epoch = next_epoch_ + 1};
  return {.epoch = next_epoch_, .place = next_place_, .piece = next_piece_};
}

SplitReader::DocumentWindow SplitReader::begin_window() {
  const PackCursor begin = next_window();
  if (begin.epoch != next_epoch_) {
    begin_epoch(begin.epoch);
    next_place_ = next_piece_ = 0;
  }
  return {.begin = begin};
}

Status SplitReader::read_window() {
  if (!filling_) {
    access_.ledger.release(std::exchange(window_.charged, 0));
    const std::uint32_t epoch = window_.begin.epoch;
    window_ = ahead_ ? *std::exchange(ahead_, std::nullopt) : begin_window();
    if (window_.begin.epoch != epoch) ++epochs_without_;
    next_ = 0;
    filling_ = true;
  }
  while (!whole(window_)) {
    DRAPPS_RETURN_IF_ERROR(read_piece(window_));
  }
  filling_ = false;
  put_in_order();
  return ok_status();
}

/// Parts of the next window's pieces, until as much of it has been read as of this one was passed.
Status SplitReader::read_ahead() {
  if (!ahead_) {
    if (packing_.ends && next_place_ == blocks_.size()) return ok_status();
    ahead_ = begin_window();
  }
  while (!whole(*ahead_) && due()) {
    auto prepared = prepare_piece();
    if (!prepared.ok()) return std::move(prepared).error();
    if (*prepared) DRAPPS_RETURN_IF_ERROR(read_piece(*ahead_));
  }
  return ok_status();
}

bool SplitReader::due() const noexcept {
  const std::size_t parts = ahead_->chunks.size() * kParts + std::min(prepared_, kParts - 1);
  return parts * window_.order.size() <= next_ * pieces_of(*ahead_) * kParts;
}

/// Reads a part of the next piece; whether nothing is left to be read of it.
Result<bool> SplitReader::prepare_piece() {
  if (numbered_ != nullptr || skip_ > 0) return true;
  DRAPPS_RETURN_IF_ERROR(reserve_piece());
  open_block();
  ++prepared_;
  return reader_->prepare();
}

Status SplitReader::reserve_piece() {
  if (reserved_ || access_.ledger.reserve(kPieceMemory)) {
    reserved_ = true;
    return ok_status();
  }
  return Error{.code = ErrorCode::kResourceExhausted,
               .stage = Stage::kFetch,
               .message = "no memory for text; raise ram_budget, or use fewer splits or smaller windows"};
}

/// What a piece has, in the place of what was reserved for it.
void SplitReader::book_piece(DocumentWindow& window, std::size_t bytes) noexcept {
  access_.ledger.release(std::exchange(reserved_, false) ? kPieceMemory : 0);
  if (access_.ledger.reserve(bytes)) window.charged += bytes;
}

Status SplitReader::read_piece(DocumentWindow& window) {
  window.chunks.reserve(window.chunks.size() + 1);  // so that none is lost that was read
  DRAPPS_RETURN_IF_ERROR(reserve_piece());
  DocumentChunk piece;
  auto wanted = next_piece(piece);
  prepared_ = 0;
  if (!wanted.ok() || !*wanted) {
    book_piece(window, 0);
    return wanted.ok() ? ok_status() : Status(std::move(wanted).error());
  }
  if (piece.text.capacity() > piece.text.size() + piece.text.size() / 4) piece.text.shrink_to_fit();
  book_piece(window, bytes_of(piece));
  window.chunks.push_back(std::move(piece));
  return ok_status();
}

/// Makes sure of a reader of the block in hand.
void SplitReader::open_block() {
  if (reader_ != nullptr) return;
  prefetch_blocks(1);
  reader_ = read_documents(access_, block(next_place_));
}

/// Reads the next piece. False where it is not wanted, or the block in hand has none any more.
Result<bool> SplitReader::next_piece(DocumentChunk& piece) {
  if (numbered_ != nullptr) return read_numbered(piece);
  open_block();
  auto more = reader_->next(piece);
  if (!more.ok()) return more;
  const bool wanted = *more && skip_ == 0;
  if (wanted) ++next_piece_;
  if (skip_ > 0) --skip_;
  if (!*more || reader_->ended()) {
    reader_.reset();
    ++next_place_;
    next_piece_ = skip_ = 0;
  }
  return wanted;
}

/// Announces some blocks, from the one that comes next on or from so many behind it.
void SplitReader::prefetch_blocks(std::uint32_t behind) {
  const std::size_t ahead = std::min(access_.storage.ahead(), kBlocksAhead);
  if (ahead == 0 || numbered_ != nullptr) return;
  const SplitBlocks* blocks = &blocks_;
  std::optional<SplitBlocks> next_epoch;
  std::uint32_t place = next_place_ + behind;
  for (std::size_t i = 0; i < std::max<std::size_t>(1, ahead / packing_.splits); ++i, ++place) {
    if (place >= blocks->size()) {
      if (packing_.ends || next_epoch) return;
      blocks = &next_epoch.emplace(access_.corpus.dealt(), packing_, split_, next_epoch_ + 1);
      place = 0;
    }
    prefetch_documents(access_, access_.corpus.blocks()[blocks->at(place)]);
  }
}

/// Announces documents with numbers from a place of the epoch on.
void SplitReader::prefetch_numbered(std::uint32_t from) {
  const std::uint64_t behind = std::min<std::uint64_t>(blocks_.size(), from + access_.storage.ahead());
  for (announced_ = std::max(announced_, from); announced_ < behind; ++announced_) {
    numbered_->prefetch(blocks_.at(announced_));
  }
}

/// next_piece() where documents have numbers: places are then those of documents, not of blocks.
Result<bool> SplitReader::read_numbered(DocumentChunk& piece) {
  const NumberedPiece& most = packs_blocks(packing_) ? kOfBlocks : kSome;
  std::uint32_t place = next_place_;
  const auto full = [&] { return place - next_place_ == most.documents || piece.text.size() >= most.bytes; };
  for (; place < blocks_.size() && !full(); ++place) {
    prefetch_numbered(place + 1);
    DRAPPS_RETURN_IF_ERROR(numbered_->read(blocks_.at(place), piece));
  }
  next_place_ = place;
  return true;
}

void SplitReader::put_in_order() {
  for (std::uint32_t chunk = 0; chunk < window_.chunks.size(); ++chunk) {
    const DocumentChunk& documents = window_.chunks[chunk];
    for (std::uint32_t i = 0; i < documents.each.size(); ++i) {
      const DocumentChunk::DocumentText& one = documents.each[i];
      if (one.error >= 0 || takes(packing_, documents.at(one))) window_.order.push_back({chunk, i});
    }
  }
  if (packing_.shuffle && numbered_ == nullptr) {
    const auto number = static_cast<std::uint64_t>(&block(window_.begin.place) - access_.corpus.blocks().data());
    const std::uint64_t seed = mixed(packing_.seed + mixed(number << 24 | window_.begin.piece));
    std::vector<std::uint64_t> places(window_.order.size());
    Permutation(window_.order.size(), seed, window_.begin.epoch).at(0, places);
    std::vector<ChunkDocument> shuffled(window_.order.size());
    std::transform(places.begin(), places.end(), shuffled.begin(), [&](std::uint64_t at) { return window_.order[at]; });
    window_.order.swap(shuffled);
  }
  next_ = std::min<std::size_t>(std::exchange(skip_documents_, 0), window_.order.size());
  const auto good = [this](const ChunkDocument& at) { return window_.chunks[at.chunk].each[at.document].error < 0; };
  if (std::any_of(window_.order.begin(), window_.order.end(), good)) epochs_without_ = 0;
}

std::string_view SplitReader::text(std::size_t ahead) const noexcept { return chunk(ahead).at(one(ahead)); }

const Error* SplitReader::error(std::size_t ahead) const noexcept {
  const std::int32_t place = one(ahead).error;
  return place < 0 ? nullptr : &chunk(ahead).errors[static_cast<std::size_t>(place)];
}

PackCursor SplitReader::place(std::size_t ahead) const noexcept {
  const bool passed = !filling_ && next_ + ahead == window_.order.size() && !ended();
  PackCursor at = !passed ? window_.begin : ahead_ ? ahead_->begin : next_window();
  at.document = skip_documents_ + (passed ? 0 : static_cast<std::uint32_t>(next_ + ahead));
  return at;
}

}  // namespace drapps::text
