// Documents in files: drapps._core.Corpus.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "drapps/modality/json_fields.h"
#include "drapps/modality/packed_text.h"
#include "drapps/modality/packed_text_plan.h"
#include "drapps/pipeline/engine.h"
#include "drapps/text/corpus/arrow_strings.h"
#include "drapps/text/corpus/corpus.h"
#include "drapps/text/corpus/document_reader.h"
#include "drapps/text/corpus/line_frames.h"
#include "drapps/text/corpus/text_source.h"
#include "drapps/text/pack/epoch_end.h"
#include "drapps/text/tokens/block_encoder.h"
#include "python_documents.h"
#include "shared.h"
#include "text_column.h"
#include "token_set.h"

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace drapps {
namespace {

using text::Corpus;
using text::DocumentFormat;

template <class T>
using Column = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// A corpus as Python holds it.
struct SharedCorpus {
  std::shared_ptr<const Corpus> corpus;
};

DocumentFormat format_of(const std::string& name) {
  if (name == "lines") return DocumentFormat::kLines;
  if (name == "jsonl") return DocumentFormat::kJsonLines;
  if (name == "files") return DocumentFormat::kFiles;
  throw nb::value_error("format must be lines, jsonl or files");
}

std::vector<std::string> names_of(const nb::sequence& paths) {
  std::vector<std::string> names;
  for (const nb::handle path : paths) {
    const auto bytes = nb::cast<nb::bytes>(path);
    names.emplace_back(bytes.c_str(), bytes.size());
  }
  return names;
}

SharedCorpus open_corpus(const nb::sequence& paths, const std::string& format, std::string field,
                         std::size_t max_document, bool by_number) {
  const std::vector<std::string> names = names_of(paths);
  const DocumentFormat kind = format_of(format);
  auto opened = [&] {
    const WithoutGil released;
    return Corpus::open(
        names, {.format = kind, .field = std::move(field), .max_document = max_document, .by_number = by_number});
  }();
  if (!opened.ok()) raise_for_file(opened.error());
  return {*std::move(opened)};
}

SharedCorpus arrow_corpus(const nb::sequence& paths, const Column<std::uint64_t>& numbers, std::size_t max_document,
                          bool by_number) {
  constexpr std::size_t kFields = 7;
  if (numbers.size() % kFields != 0) throw nb::value_error("a run of strings is seven numbers");
  std::vector<text::ArrowRun> runs;
  for (const std::uint64_t* at = numbers.data(); at != numbers.data() + numbers.size(); at += kFields) {
    runs.push_back({.file = static_cast<std::uint32_t>(at[0]),
                    .rows = at[1],
                    .offsets = at[2],
                    .width = at[3],
                    .content = at[4],
                    .bytes = at[5],
                    .validity = at[6]});
  }
  auto opened = Corpus::arrow(names_of(paths), std::move(runs), {.max_document = max_document, .by_number = by_number});
  if (!opened.ok()) raise_for_file(opened.error());
  return {*std::move(opened)};
}

SharedCorpus foreign_corpus(const nb::sequence& paths, const std::vector<std::uint64_t>& sizes,
                            const std::vector<std::vector<std::uint64_t>>& blocks, const nb::callable& read) {
  std::vector<text::Block> listed;
  for (std::uint32_t file = 0; file < blocks.size(); ++file) {
    for (std::uint64_t i = 0; i < blocks[file].size(); ++i) {
      if (blocks[file][i] > 0) listed.push_back({file, i, blocks[file][i]});
    }
  }
  return {value_of(Corpus::foreign(names_of(paths), sizes, std::move(listed), python_documents(read)))};
}

nb::ndarray<nb::numpy, std::uint64_t> count_blocks(const SharedSource& self, std::uint32_t file,
                                                   const text::Tokenizer& tokenizer, const std::string& description) {
  const auto* const source = dynamic_cast<const text::TextSource*>(self.source.get());
  if (source == nullptr || source->sets().front().corpus == nullptr) {
    throw nb::value_error("only documents are counted");
  }
  PackedTextFields fields;
  const auto object = nlohmann::json::parse(description, nullptr, false);
  JsonReader reader(object, "the packing");
  fields.fields(reader);
  if (const Status read = reader.status(); !read.ok()) throw nb::value_error(read.error().message.c_str());
  auto counts = [&] {
    const WithoutGil released;
    const std::shared_ptr<Storage> storage = source->shared_storage();
    return text::count_blocks({*source->sets().front().corpus, *storage, Engine::get().memory(MemoryUse::kWorkspaces)},
                              tokenizer, packing_of(fields), file);
  }();
  if (!counts.ok()) raise_for_file(counts.error());
  return array_of(*std::move(counts));
}

std::uint64_t rows_of_epoch(const Column<std::uint64_t>& counts, std::uint64_t most_splits, std::uint32_t length,
                            std::uint32_t splits, bool shuffle, std::uint64_t seed) {
  if (length == 0) throw nb::value_error("length must be at least 1");
  const std::uint32_t by_default = text::default_splits(most_splits);
  return text::rows_of_epoch(
      {counts.data(), counts.size()},
      {.length = length, .splits = splits == 0 ? by_default : splits, .shuffle = shuffle, .seed = seed, .ends = true});
}

/// Makes the ids of one block, and keeps what it needs for that.
class SharedBlockEncoder {
 public:
  SharedBlockEncoder(std::shared_ptr<const Corpus> corpus, std::size_t block, const nb::object& tokenizer,
                     const text::DocumentMarks& marks)
      : corpus_(std::move(corpus)),
        tokenizer_(tokenizer),
        encoder_({*corpus_, *Storage::files(), MemoryLedger::unlimited()}, corpus_->blocks().at(block),
                 nb::cast<const text::Tokenizer&>(tokenizer), marks) {}

  /// False where there is no such piece.
  bool skip() {
    auto more = [&] {
      const WithoutGil released;
      return encoder_.skip();
    }();
    if (!more.ok()) fail(more.error());
    return *more;
  }
  nb::object next(unsigned threads) {
    auto piece = std::make_unique<text::EncodedPiece>();
    auto more = [&] {
      const WithoutGil released;
      return encoder_.next(threads, *piece);
    }();
    if (!more.ok()) fail(more.error());
    if (!*more) return nb::none();
    nb::list errors;
    for (const Error& error : piece->errors) errors.append(error_args(error));
    text::EncodedPiece* const held = piece.release();
    const nb::capsule owner(held, [](void* of) noexcept { delete static_cast<text::EncodedPiece*>(of); });
    return nb::make_tuple(
        nb::ndarray<nb::numpy, text::TokenId, nb::ndim<1>>(held->ids.data(), {held->ids.size()}, owner),
        nb::ndarray<nb::numpy, std::int32_t, nb::ndim<1>>(held->lengths.data(), {held->lengths.size()}, owner), errors);
  }

 private:
  const std::shared_ptr<const Corpus> corpus_;
  const nb::object tokenizer_;
  text::BlockEncoder encoder_;
};

/// The lines of one file, and what they are read from.
class SharedLineFrames {
 public:
  SharedLineFrames(std::shared_ptr<const Corpus> corpus, std::uint32_t file)
      : corpus_(std::move(corpus)), frames_({*corpus_, *Storage::files(), MemoryLedger::unlimited()}, file) {}

  nb::object next() {
    std::string lines;
    auto more = [&] {
      const WithoutGil released;
      return frames_.next(lines);
    }();
    if (!more.ok()) raise_for_file(more.error());
    return *more ? nb::object(nb::bytes(lines.data(), lines.size())) : nb::none();
  }

 private:
  const std::shared_ptr<const Corpus> corpus_;
  text::LineFrames frames_;
};

nb::bytes zstd_frame(const nb::bytes& content, int level) {
  const std::string frame = [&] {
    const WithoutGil released;
    return text::zstd_frame_of({content.c_str(), content.size()}, level);
  }();
  return nb::bytes(frame.data(), frame.size());
}

}  // namespace

void bind_corpus(nb::module_& module) {
  nb::class_<SharedBlockEncoder>(module, "BlockEncoder", "The ids of one block; see text/tokens/block_encoder.h.")
      .def("skip", &SharedBlockEncoder::skip, "Passes over a piece; False where the block has ended.")
      .def("next", &SharedBlockEncoder::next, "threads"_a,
           "The ids of a piece, the lengths of its documents and the errors of bad ones; None at the block's end.");
  nb::class_<SharedLineFrames>(module, "LineFrames", "The lines of a file; see text/corpus/line_frames.h.")
      .def("next", &SharedLineFrames::next, "Whole lines of 1 MiB or more together, or None at the end.");
  module.def("zstd_frame", &zstd_frame, "content"_a, "level"_a, "A frame with its content's size and checksum.");
  nb::class_<SharedCorpus>(module, "Corpus", "Documents in files, by blocks; see text/corpus/corpus.h.")
      .def_static("open", &open_corpus, "paths"_a, "format"_a, "field"_a, "max_document"_a, "by_number"_a = false,
                  "Lists the blocks of files, which are bytes, and each line where documents are to be read by number; "
                  "ValueError or OSError names the file.")
      .def_static("arrow", &arrow_corpus, "paths"_a, "runs"_a, "max_document"_a, "by_number"_a,
                  "Strings in Arrow files, of each record batch seven numbers: see ArrowRun in "
                  "text/corpus/arrow_strings.h. ValueError or OSError names the file.")
      .def_static("foreign", &foreign_corpus, "paths"_a, "sizes"_a, "blocks"_a, "read"_a,
                  "Files that Python reads: of each its size and how many documents its blocks have, and a function "
                  "from path and number of a block to an iterator of (bytes, offsets), two arrays of uint8 and int64.")
      .def_prop_ro("extent", [](const SharedCorpus& self) { return self.corpus->bytes(); })
      .def_prop_ro("fingerprint", [](const SharedCorpus& self) { return self.corpus->fingerprint(); })
      .def_prop_ro(
          "dealt", [](const SharedCorpus& self) { return self.corpus->dealt(); },
          "How many blocks, or documents by number, splits share.")
      .def_prop_ro("most_splits", [](const SharedCorpus& self) { return self.corpus->most_splits(); })
      .def_prop_ro("blocks",
                   [](const SharedCorpus& self) {
                     std::vector<std::uint64_t> lengths;
                     for (const text::Block& block : self.corpus->blocks()) lengths.push_back(block.length);
                     return lengths;
                   })
      .def(
          "encoder",
          [](const SharedCorpus& self, std::size_t block, const nb::object& tokenizer, std::optional<text::TokenId> bos,
             std::optional<text::TokenId> eos) {
            return new SharedBlockEncoder(self.corpus, block, tokenizer, {.bos = bos, .eos = eos});
          },
          nb::rv_policy::take_ownership, "block"_a, "tokenizer"_a, "bos"_a.none(), "eos"_a.none(),
          "What makes the ids of a block's documents.")
      .def(
          "line_frames",
          [](const SharedCorpus& self) {
            if (self.corpus->foreign() != nullptr) throw nb::value_error("these files have no lines");
            return new SharedLineFrames(self.corpus, 0);
          },
          nb::rv_policy::take_ownership, "The lines of the first file.");
  module.def(
      "text_source",
      [](const nb::sequence& sets, std::optional<std::uint64_t> rows) {
        std::vector<text::TextSet> all;
        for (const nb::handle each : sets) {
          text::TextSet set;
          if (nb::isinstance<SharedTokenSet>(each)) {
            set.tokens = nb::cast<SharedTokenSet>(each).set;
          } else {
            set.corpus = nb::cast<SharedCorpus>(each).corpus;
          }
          all.push_back(std::move(set));
        }
        if (all.empty()) throw nb::value_error("there are no documents");
        return SharedSource{
            std::make_shared<text::TextSource>(std::move(all), rows.value_or(text::TextSource::kEndless))};
      },
      "sets"_a, "rows"_a.none(),
      "A Source of so many rows of text, or of as many as there can be, of a Corpus or TokenSet, or of several.");
  module.def("count_blocks", &count_blocks, "source"_a, "file"_a, "tokenizer"_a, "packing"_a,
             "The ids that the good documents of each block of a file have, or of each document by number, with their "
             "marks, where they are packed one behind the other; else the rows that they make. The packing is JSON, "
             "checked; OSError or ValueError names the "
             "file.");
  module.def(
      "rows_of_epoch", &rows_of_epoch, "counts"_a, "most_splits"_a, "length"_a, "splits"_a, "shuffle"_a, "seed"_a,
      "Rows of an epoch that ends, of blocks or documents of so many ids each, length of which are a row; splits: "
      "0 for the default.");
}

}  // namespace drapps
