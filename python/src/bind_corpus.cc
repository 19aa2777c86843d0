// Documents in files: drapps._core.Corpus.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "drapps/text/corpus/corpus.h"
#include "drapps/text/corpus/text_source.h"
#include "drapps/text/pack/packing.h"
#include "shared.h"

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace drapps {
namespace {

using text::Corpus;
using text::DocumentFormat;

/// As Python holds it.
struct SharedCorpus {
  std::shared_ptr<const Corpus> corpus;
};

DocumentFormat format_of(const std::string& name) {
  if (name == "lines") return DocumentFormat::kLines;
  if (name == "jsonl") return DocumentFormat::kJsonLines;
  if (name == "files") return DocumentFormat::kFiles;
  throw nb::value_error("format must be lines, jsonl or files");
}

SharedCorpus open_corpus(const nb::sequence& paths, const std::string& format, std::string field,
                         std::size_t max_document) {
  std::vector<std::string> names;
  for (const nb::handle path : paths) {
    const auto bytes = nb::cast<nb::bytes>(path);
    names.emplace_back(bytes.c_str(), bytes.size());
  }
  const DocumentFormat kind = format_of(format);
  auto opened = [&] {
    const WithoutGil released;
    return Corpus::open(names, {.format = kind, .field = std::move(field), .max_document = max_document});
  }();
  if (!opened.ok()) raise_for_file(opened.error());
  return {*std::move(opened)};
}

}  // namespace

void bind_corpus(nb::module_& module) {
  nb::class_<SharedCorpus>(module, "Corpus", "Documents in files, by blocks; see text/corpus/corpus.h.")
      .def_static("open", &open_corpus, "paths"_a, "format"_a, "field"_a, "max_document"_a,
                  "Lists the blocks of files, which are bytes; ValueError or OSError names the file.")
      .def_prop_ro("blocks", [](const SharedCorpus& self) { return self.corpus->blocks().size(); })
      .def_prop_ro("bytes", [](const SharedCorpus& self) { return self.corpus->bytes(); })
      .def_prop_ro("fingerprint", [](const SharedCorpus& self) { return self.corpus->fingerprint(); })
      .def_prop_ro("splits",
                   [](const SharedCorpus& self) { return text::default_splits(self.corpus->blocks().size()); })
      .def(
          "source",
          [](const SharedCorpus& self, std::optional<std::uint64_t> rows) {
            const std::uint64_t count = rows.value_or(text::TextSource::kEndless);
            return SharedSource{std::make_shared<text::TextSource>(self.corpus, count)};
          },
          "rows"_a, "A Source of so many rows of packed text, or of as many as there can be.");
}

}  // namespace drapps
