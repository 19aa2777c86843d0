// Tokenizers: drapps._core.TextTokenizer.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "drapps/pipeline/engine.h"
#include "drapps/text/documents.h"
#include "drapps/text/json_digest.h"
#include "drapps/text/ranks.h"
#include "drapps/text/rows.h"
#include "drapps/text/tokenizer.h"
#include "drapps/text/tokenizer_json.h"
#include "drapps/text/unicode/utf8_repair.h"
#include "shared.h"
#include "text_column.h"

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace drapps {
namespace {

using text::TokenId;
using TextTokenizer = text::Tokenizer;

/// A tokenizer, or the reason why there is none that is exact; ValueError for a damaged description.
nb::object tokenizer_or_reason(Result<text::TokenizerParts> parts) {
  if (parts.ok()) return nb::cast(std::make_unique<TextTokenizer>(std::move(parts).value()));
  if (parts.error().code == ErrorCode::kUnsupported) return nb::str(parts.error().message.c_str());
  raise_for_file(parts.error());
}

std::string_view view_of(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }

nb::object from_json(const nb::bytes& json, bool limits) {
  const auto read = [&] {
    const WithoutGil released;
    return text::parse_tokenizer_json(view_of(json), limits);
  };
  return tokenizer_or_reason(read());
}

std::vector<text::TokenBytes> tokens_of(const nb::dict& tokens) {
  std::vector<text::TokenBytes> views;
  views.reserve(tokens.size());
  for (const auto [bytes, id] : tokens) {
    views.push_back({view_of(nb::cast<nb::bytes>(bytes)), nb::cast<TokenId>(id)});
  }
  return views;
}

nb::object from_ranks(const nb::dict& ranks, const std::string& pattern, const nb::dict& specials) {
  const auto rank_tokens = tokens_of(ranks);
  const auto special_tokens = tokens_of(specials);
  const auto make = [&] {
    const WithoutGil released;
    return text::parts_of_ranks(rank_tokens, pattern, special_tokens);
  };
  return tokenizer_or_reason(make());
}

/// A string with U+FFFD in the place of each surrogate that is no half of a pair.
nb::object without_surrogates(PyObject* string) {
  const auto passed = nb::steal(PyUnicode_AsEncodedString(string, "utf-16-le", "surrogatepass"));
  if (!passed.is_valid()) throw nb::python_error();
  auto replaced =
      nb::steal(PyUnicode_Decode(PyBytes_AsString(passed.ptr()), PyBytes_Size(passed.ptr()), "utf-16-le", "replace"));
  if (!replaced.is_valid()) throw nb::python_error();
  return replaced;
}

/// Texts of a call in UTF-8, and what keeps them.
class Texts {
 public:
  void add(nb::handle text) {
    const nb::object string = nb::borrow(text);
    if (PyBytes_Check(text.ptr())) {
      kept_.append(string);
      views_.emplace_back(PyBytes_AsString(text.ptr()), static_cast<std::size_t>(PyBytes_Size(text.ptr())));
      bytes_ = true;
      return;
    }
    if (!PyUnicode_Check(text.ptr())) throw nb::type_error("texts must be str or bytes");
    if (read(string)) return;
    if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) throw nb::python_error();
    PyErr_Clear();
    if (!read(without_surrogates(string.ptr()))) throw nb::python_error();
  }

  const std::vector<std::string_view>& views() const noexcept { return views_; }
  /// Whether some may be no UTF-8.
  bool bytes() const noexcept { return bytes_; }

 private:
  /// False, with Python's error set, for what has no UTF-8.
  bool read(const nb::object& string) {
    Py_ssize_t size = 0;
    const char* data = PyUnicode_AsUTF8AndSize(string.ptr(), &size);
    if (data == nullptr) return false;
    kept_.append(string);
    views_.emplace_back(data, static_cast<std::size_t>(size));
    return true;
  }

  nb::list kept_;
  std::vector<std::string_view> views_;
  bool bytes_ = false;
};

Texts read_texts(const nb::object& texts) {
  Texts read;
  for (const nb::handle text : texts) read.add(text);
  return read;
}

/// Raises the error of a call for texts.
[[noreturn]] void raise_for_texts(const Error& error) {
  if (error.code == ErrorCode::kResourceExhausted) throw std::bad_alloc();
  throw nb::value_error(error.message.c_str());
}

/// Which added tokens are looked for: those of these contents.
std::vector<bool> wanted_tokens(const TextTokenizer& tokenizer, const std::vector<std::string>& contents) {
  std::vector<bool> wanted;
  for (const text::AddedToken& token : tokenizer.added()) {
    wanted.push_back(std::find(contents.begin(), contents.end(), token.content) != contents.end());
  }
  return wanted;
}

/// The workers, the memory and the cores that all loaders share.
text::CallResources resources() {
  Engine& engine = Engine::get();
  return {&engine.workers(), static_cast<unsigned>(engine.max_workers()), &engine.memory(MemoryUse::kWorkspaces)};
}

TextTokenizer::Encoded encode_views(const TextTokenizer& tokenizer, const std::vector<std::string_view>& texts,
                                    bool repair, unsigned threads, bool specials,
                                    const std::optional<std::vector<std::string>>& allowed) {
  std::vector<bool> wanted;
  if (allowed) wanted = wanted_tokens(tokenizer, *allowed);
  const TextTokenizer::Options options{.specials = specials, .repair = repair, .added = allowed ? &wanted : nullptr};
  const auto run = [&] {
    const WithoutGil released;
    return tokenizer.encode(texts, threads, options, resources());
  };
  auto encoded = run();
  if (encoded.ok()) return std::move(encoded).value();
  raise_for_texts(encoded.error());
}

/// Ids and offsets as arrays.
nb::tuple arrays_of(TextTokenizer::Encoded encoded) {
  const std::size_t tokens = encoded.ids.size();
  TokenId* const ids = encoded.ids.release();
  nb::capsule ids_owner(ids, [](void* p) noexcept { std::free(p); });
  return nb::make_tuple(nb::ndarray<nb::numpy, TokenId>(ids, {tokens}, ids_owner),
                        array_of(std::move(encoded.offsets)));
}

nb::tuple encode_batch(const TextTokenizer& tokenizer, const nb::object& texts, unsigned threads, bool specials,
                       const std::optional<std::vector<std::string>>& allowed) {
  const Texts read = read_texts(texts);
  return arrays_of(encode_views(tokenizer, read.views(), read.bytes(), threads, specials, allowed));
}

using Bytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Numbers = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::string_view view_of(const Bytes& bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

nb::tuple encode_ranges(const TextTokenizer& tokenizer, const std::vector<std::tuple<Bytes, Numbers, Numbers>>& chunks,
                        unsigned threads, bool specials, const std::optional<std::vector<std::string>>& allowed) {
  std::vector<std::string_view> views;
  for (const auto& [bytes, begins, ends] : chunks) {
    const std::string_view text = view_of(bytes);
    const auto size = static_cast<std::int64_t>(text.size());
    if (begins.size() != ends.size()) throw nb::value_error("there must be an end for each begin");
    for (std::size_t i = 0; i < begins.size(); ++i) {
      const std::int64_t begin = begins.data()[i];
      const std::int64_t end = ends.data()[i];
      if (begin < 0 || begin > end || end > size) throw nb::value_error("a text ends before it begins, or beyond");
      views.push_back(text.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)));
    }
  }
  return arrays_of(encode_views(tokenizer, views, true, threads, specials, allowed));
}

nb::tuple documents(const Bytes& text, const nb::bytes& separator) {
  if (separator.size() == 0) throw nb::value_error("an empty separator holds nothing apart");
  const auto find = [&] {
    const WithoutGil released;
    return text::find_documents(view_of(text), view_of(separator));
  };
  auto bounds = find();
  return nb::make_tuple(array_of(std::move(bounds.begins)), array_of(std::move(bounds.ends)));
}

text::Cutting cutting_of(const std::string& strategy) {
  if (strategy == "longest_first") return text::Cutting::kLongestFirst;
  if (strategy == "only_first") return text::Cutting::kFirst;
  if (strategy == "only_second") return text::Cutting::kSecond;
  return text::Cutting::kNone;
}

text::Padding padding_of(const std::string& strategy) {
  if (strategy == "longest") return text::Padding::kLongest;
  if (strategy == "max_length") return text::Padding::kLength;
  return text::Padding::kNone;
}

/// Columns by name, or the reason why only the stock tokenizer can answer.
nb::object rows_of(const TextTokenizer& tokenizer, const std::vector<std::string_view>& texts,
                   const std::vector<std::string_view>* seconds, const text::RowOptions& options) {
  const auto run = [&] {
    const WithoutGil released;
    return text::make_rows(tokenizer, texts, seconds, options, resources());
  };
  auto output = run();
  if (!output.ok() && output.error().code == ErrorCode::kUnsupported) return nb::str(output.error().message.c_str());
  if (!output.ok()) raise_for_texts(output.error());
  nb::dict columns;
  columns["begins"] = array_of(std::move(output->begins));
  columns["samples"] = array_of(std::move(output->samples));
  columns["input_ids"] = array_of(std::move(output->ids));
  if (options.types) columns["token_type_ids"] = array_of(std::move(output->types));
  if (options.attention) columns["attention_mask"] = array_of(std::move(output->attention));
  if (options.special_mask) columns["special_tokens_mask"] = array_of(std::move(output->special_mask));
  if (options.places) columns["offset_mapping"] = array_of(std::move(output->places));
  return columns;
}

nb::object rows(const TextTokenizer& tokenizer, const nb::object& texts, const nb::object& seconds,
                const text::RowOptions& options) {
  const Texts firsts = read_texts(texts);
  const Texts others = seconds.is_none() ? Texts() : read_texts(seconds);
  if (firsts.bytes() || others.bytes()) throw nb::type_error("texts of rows must be str");
  return rows_of(tokenizer, firsts.views(), seconds.is_none() ? nullptr : &others.views(), options);
}

/// Whether all of them are UTF-8.
bool are_utf8(const std::vector<std::string_view>& texts) {
  std::string repaired;
  return std::none_of(texts.begin(), texts.end(),
                      [&](std::string_view text) { return text::repair_utf8(text, repaired); });
}

std::vector<std::string_view> texts_of(const TextColumn& column, const Integers& rows) {
  auto texts = column.column.texts(span_of(rows));
  if (!texts.ok()) raise_for_texts(texts.error());
  return std::move(texts).value();
}

nb::object column_rows(const TextTokenizer& tokenizer, const TextColumn& first, const TextColumn* second,
                       const Integers& rows, const text::RowOptions& options) {
  const std::vector<std::string_view> texts = texts_of(first, rows);
  std::vector<std::string_view> seconds;
  if (second != nullptr) seconds = texts_of(*second, rows);
  const auto check = [&] {
    const WithoutGil released;
    return are_utf8(texts) && are_utf8(seconds);
  };
  if (!check()) return nb::str("a text is not valid UTF-8");
  return rows_of(tokenizer, texts, second != nullptr ? &seconds : nullptr, options);
}

nb::list encode(const TextTokenizer& tokenizer, const nb::object& text, bool specials,
                const std::optional<std::vector<std::string>>& allowed) {
  Texts read;
  read.add(text);
  const TextTokenizer::Encoded encoded = encode_views(tokenizer, read.views(), read.bytes(), 1, specials, allowed);
  nb::list ids;
  for (std::size_t i = 0; i < encoded.ids.size(); ++i) ids.append(encoded.ids.data()[i]);
  return ids;
}

nb::bytes decode_bytes(const TextTokenizer& tokenizer, const std::vector<std::int64_t>& ids, bool skip_special,
                       bool lenient) {
  auto bytes = tokenizer.decode(ids, skip_special, lenient);
  if (!bytes.ok()) throw nb::value_error(bytes.error().message.c_str());
  return nb::bytes(bytes->data(), bytes->size());
}

}  // namespace

void bind_text(nb::module_& module) {
  using text::RowOptions;
  nb::class_<RowOptions>(module, "TextRowOptions", "How texts become rows.")
      .def(nb::init<>())
      .def_rw("specials", &RowOptions::specials)
      .def_rw("overflowing", &RowOptions::overflowing)
      .def_rw("types", &RowOptions::types)
      .def_rw("attention", &RowOptions::attention)
      .def_rw("special_mask", &RowOptions::special_mask)
      .def_rw("places", &RowOptions::places)
      .def_rw("max_length", &RowOptions::max_length)
      .def_rw("stride", &RowOptions::stride)
      .def_rw("cut_left", &RowOptions::cut_left)
      .def_rw("length", &RowOptions::length)
      .def_rw("multiple", &RowOptions::multiple)
      .def_rw("pad_left", &RowOptions::pad_left)
      .def_rw("pad_id", &RowOptions::pad_id)
      .def_rw("pad_type", &RowOptions::pad_type)
      .def(
          "cut", [](RowOptions& self, const std::string& how) { self.cutting = cutting_of(how); }, "strategy"_a,
          "Cut rows to max_length: longest_first, only_first or only_second.")
      .def(
          "pad", [](RowOptions& self, const std::string& how) { self.padding = padding_of(how); }, "strategy"_a,
          "Pad rows: longest or max_length, which is length.");
  module.attr("TEXT_MAX_JSON") = text::kMaxJson;
  module.def("text_documents", &documents, "text"_a, "separator"_a,
             "Where the documents of a text begin and end that a separator holds apart.");
  module.def(
      "json_digest",
      [](const nb::bytes& json) {
        const WithoutGil released;
        return text::digest_of_json(view_of(json));
      },
      "json"_a, "A number over what JSON says, however it is written; None where it cannot be read here.");
  nb::class_<TextTokenizer>(module, "TextTokenizer", "A byte-level BPE tokenizer of the core.")
      .def_static("from_json", &from_json, "json"_a, "limits"_a = true,
                  "A tokenizer of the bytes of a tokenizer.json, or the reason why none would be exact.")
      .def_static("from_ranks", &from_ranks, "ranks"_a, "pattern"_a, "specials"_a,
                  "A tokenizer of tiktoken's ranks and special tokens, both from bytes to ids.")
      .def("encode_batch", &encode_batch, "texts"_a, "threads"_a, "specials"_a, "allowed"_a.none(),
           "The ids of all texts, and where each text's begin and end.")
      .def("encode_ranges", &encode_ranges, "chunks"_a, "threads"_a, "specials"_a, "allowed"_a.none(),
           "As encode_batch() of texts that stand in buffers: of each buffer its bytes, begins and ends.")
      .def("rows", &rows, "texts"_a, "seconds"_a.none(), "options"_a,
           "The columns of a batch of texts, or pairs, by name; or why only the stock tokenizer can answer.")
      .def("column_rows", &column_rows, "first"_a, "second"_a.none(), "rows"_a, "options"_a,
           "As rows() of rows of one column of texts, or two, which are read where they lie.")
      .def("encode", &encode, "text"_a, "specials"_a, "allowed"_a.none(), "The ids of one text.")
      .def("decode_bytes", &decode_bytes, "ids"_a, "skip_special"_a, "lenient"_a, "The bytes of the text of ids.")
      .def_prop_ro("decodes", &TextTokenizer::decodes, "Whether decode() does what the library does.")
      .def_prop_ro("vocab_size", &TextTokenizer::vocabulary, "How many tokens there are.")
      .def_prop_ro(
          "pattern", [](const TextTokenizer& self) { return nb::str(text::name_of(self.pattern()).data()); },
          "The name of its pattern.");
}

}  // namespace drapps
