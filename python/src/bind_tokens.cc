// Files of token ids: drapps._core.{TokenSetBuilder, TokenSet}.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "drapps/modality/token_rows.h"
#include "drapps/text/tokens/token_set.h"
#include "drapps/text/tokens/token_source.h"
#include "shared.h"
#include "token_set.h"

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace drapps {
namespace {

using text::TokenSet;
using Numbers = nb::ndarray<const std::uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Bytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

text::DocumentsBy documents_by(const std::string& name) {
  if (name == "nothing") return text::DocumentsBy::kNothing;
  if (name == "index") return text::DocumentsBy::kIndex;
  if (name == "eos") return text::DocumentsBy::kEos;
  throw nb::value_error("documents must be nothing, index or eos");
}

Dtype dtype_of(const std::string& name) {
  for (const Dtype dtype : {Dtype::kUint8, Dtype::kInt8, Dtype::kUint16, Dtype::kInt16, Dtype::kUint32, Dtype::kInt32,
                            Dtype::kUint64, Dtype::kInt64}) {
    if (name_of(dtype) == name) return dtype;
  }
  throw nb::value_error(("ids of dtype " + name + " are not known").c_str());
}

std::string text_of(const nb::bytes& path) { return {path.c_str(), path.size()}; }

std::span<const std::uint64_t> span_of(const Numbers& numbers) { return {numbers.data(), numbers.size()}; }

void check(Status status) {
  if (!status.ok()) raise_for_file(status.error());
}

/// Keeps a Python object until the core needs it no more.
std::shared_ptr<const void> owner_of(const nb::object& object) {
  return {new nb::object(object), [](const nb::object* held) {
            auto* const mine = const_cast<nb::object*>(held);
            with_gil([&] { mine->reset(); });
            mine->release();
            delete mine;
          }};
}

SharedSource source_of(const SharedTokenSet& self, std::uint32_t length, const std::string& labels, bool mask_starts,
                       const std::string& packing) {
  TokenRowsFields fields{.length = length, .mask_starts = mask_starts};
  if (!parse(packing, fields.packing)) throw nb::value_error("packing must be concatenate or documents");
  if (!parse(labels, fields.labels)) throw nb::value_error("labels must be none, same or shifted");
  if (length == 0) throw nb::value_error("length must be at least 1");
  return {std::make_shared<text::TokenSource>(self.set, fields.row(self.set->options().documents))};
}

}  // namespace

void bind_tokens(nb::module_& module) {
  nb::class_<SharedTokenSet>(module, "TokenSet", "Ids in files or in memory; see text/tokens/token_set.h.")
      .def_prop_ro("size", [](const SharedTokenSet& self) { return self.set->size(); })
      .def_prop_ro("fingerprint", [](const SharedTokenSet& self) { return self.set->fingerprint(); })
      .def_prop_ro("extent", [](const SharedTokenSet& self) { return self.set->size(); })
      .def("source", &source_of, "length"_a, "labels"_a, "mask_starts"_a, "packing"_a,
           "A Source of rows with such columns.")
      .def_prop_ro("documents",
                   [](const SharedTokenSet& self) { return self.set->documents(0, self.set->size()).size(); });
  nb::class_<TokenSet::Builder>(module, "TokenSetBuilder", "Adds files to a TokenSet; ValueError or OSError names one.")
      .def(
          "__init__",
          [](TokenSet::Builder* self, const std::string& documents, std::uint64_t eos, std::uint64_t vocabulary) {
            new (self) TokenSet::Builder({.documents = documents_by(documents), .eos = eos, .vocabulary = vocabulary});
          },
          "documents"_a, "eos"_a, "vocabulary"_a)
      .def(
          "add_plain",
          [](TokenSet::Builder& self, const nb::bytes& path, const std::string& dtype, std::uint64_t header) {
            check(self.add_plain(text_of(path), dtype_of(dtype), header));
          },
          "path"_a, "dtype"_a, "header"_a)
      .def(
          "add_megatron",
          [](TokenSet::Builder& self, const nb::bytes& bin, const nb::bytes& index) {
            const std::string bin_path = text_of(bin);
            const std::string index_path = text_of(index);
            Status status = [&] {
              const WithoutGil released;
              return self.add_megatron(bin_path, index_path);
            }();
            check(std::move(status));
          },
          "bin"_a, "index"_a)
      .def(
          "add_ranges",
          [](TokenSet::Builder& self, const nb::bytes& path, const std::string& dtype, const Numbers& offsets,
             const Numbers& ids, const Numbers& documents) {
            if (offsets.size() != ids.size()) throw nb::value_error("there must be an offset for each number of ids");
            std::vector<TokenSet::Builder::Range> ranges;
            ranges.reserve(ids.size());
            for (std::size_t i = 0; i < ids.size(); ++i) ranges.push_back({offsets.data()[i], ids.data()[i]});
            check(self.add_ranges(text_of(path), dtype_of(dtype), ranges, span_of(documents)));
          },
          "path"_a, "dtype"_a, "offsets"_a, "ids"_a, "documents"_a)
      .def(
          "add_memory",
          [](TokenSet::Builder& self, const nb::bytes& path, const std::string& dtype, const Bytes& bytes,
             const Numbers& documents) {
            check(self.add_memory(text_of(path), dtype_of(dtype), {bytes.data(), bytes.size()},
                                  owner_of(nb::cast(bytes)), span_of(documents)));
          },
          "path"_a, "dtype"_a, "bytes"_a, "documents"_a)
      .def("finish", [](TokenSet::Builder& self) {
        auto finished = std::move(self).finish();
        if (!finished.ok()) raise_for_file(finished.error());
        return SharedTokenSet{*std::move(finished)};
      });
}

}  // namespace drapps
