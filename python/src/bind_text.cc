// Tokenizers: drapps._core.TextTokenizer.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "drapps/text/ranks.h"
#include "drapps/text/tokenizer.h"
#include "drapps/text/tokenizer_json.h"
#include "shared.h"

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

nb::object from_json(const nb::bytes& json) {
  const auto read = [&] {
    const WithoutGil released;
    return text::parse_tokenizer_json(view_of(json));
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
    nb::object string = nb::borrow(text);
    if (PyBytes_Check(text.ptr())) {
      const std::string_view bytes(PyBytes_AsString(text.ptr()), static_cast<std::size_t>(PyBytes_Size(text.ptr())));
      string = nb::steal(PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "replace"));
      if (!string.is_valid()) throw nb::python_error();
    } else if (!PyUnicode_Check(text.ptr())) {
      throw nb::type_error("texts must be str or bytes");
    }
    if (read(string)) return;
    if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) throw nb::python_error();
    PyErr_Clear();
    if (!read(without_surrogates(string.ptr()))) throw nb::python_error();
  }

  const std::vector<std::string_view>& views() const noexcept { return views_; }

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
};

/// Which added tokens are looked for: those of these contents.
std::vector<bool> wanted_tokens(const TextTokenizer& tokenizer, const std::vector<std::string>& contents) {
  std::vector<bool> wanted;
  for (const text::AddedToken& token : tokenizer.added()) {
    wanted.push_back(std::find(contents.begin(), contents.end(), token.content) != contents.end());
  }
  return wanted;
}

TextTokenizer::Encoded encode_texts(const TextTokenizer& tokenizer, const Texts& texts, unsigned threads, bool specials,
                                    const std::optional<std::vector<std::string>>& allowed) {
  std::vector<bool> wanted;
  if (allowed) wanted = wanted_tokens(tokenizer, *allowed);
  const auto run = [&] {
    const WithoutGil released;
    return tokenizer.encode(texts.views(), threads, {.specials = specials, .added = allowed ? &wanted : nullptr});
  };
  auto encoded = run();
  if (encoded.ok()) return std::move(encoded).value();
  if (encoded.error().code == ErrorCode::kResourceExhausted) throw std::bad_alloc();
  throw nb::value_error(encoded.error().message.c_str());
}

nb::tuple encode_batch(const TextTokenizer& tokenizer, const nb::object& texts, unsigned threads, bool specials,
                       const std::optional<std::vector<std::string>>& allowed) {
  Texts read;
  for (const nb::handle text : texts) read.add(text);
  TextTokenizer::Encoded encoded = encode_texts(tokenizer, read, threads, specials, allowed);
  const std::size_t tokens = encoded.ids.size();
  TokenId* const ids = encoded.ids.release();
  nb::capsule ids_owner(ids, [](void* p) noexcept { std::free(p); });
  auto offsets = std::make_unique<std::vector<std::int64_t>>(std::move(encoded.offsets));
  std::int64_t* const places = offsets->data();
  const std::size_t count = offsets->size();
  nb::capsule offsets_owner(offsets.release(),
                            [](void* p) noexcept { delete static_cast<std::vector<std::int64_t>*>(p); });
  return nb::make_tuple(nb::ndarray<nb::numpy, TokenId>(ids, {tokens}, ids_owner),
                        nb::ndarray<nb::numpy, std::int64_t>(places, {count}, offsets_owner));
}

nb::list encode(const TextTokenizer& tokenizer, const nb::object& text, bool specials,
                const std::optional<std::vector<std::string>>& allowed) {
  Texts read;
  read.add(text);
  const TextTokenizer::Encoded encoded = encode_texts(tokenizer, read, 1, specials, allowed);
  nb::list ids;
  for (std::size_t i = 0; i < encoded.ids.size(); ++i) ids.append(encoded.ids.data()[i]);
  return ids;
}

nb::str decode(const TextTokenizer& tokenizer, const std::vector<std::int64_t>& ids, bool skip_special, bool lenient) {
  auto bytes = tokenizer.decode(ids, skip_special, lenient);
  if (!bytes.ok()) throw nb::value_error(bytes.error().message.c_str());
  auto said =
      nb::steal<nb::str>(PyUnicode_DecodeUTF8(bytes->data(), static_cast<Py_ssize_t>(bytes->size()), "replace"));
  if (!said.is_valid()) throw nb::python_error();
  return said;
}

}  // namespace

void bind_text(nb::module_& module) {
  nb::class_<TextTokenizer>(module, "TextTokenizer", "A byte-level BPE tokenizer of the core.")
      .def_static("from_json", &from_json, "json"_a,
                  "A tokenizer of the bytes of a tokenizer.json, or the reason why none would be exact.")
      .def_static("from_ranks", &from_ranks, "ranks"_a, "pattern"_a, "specials"_a,
                  "The same of tiktoken's ranks and special tokens, both from bytes to ids.")
      .def("encode_batch", &encode_batch, "texts"_a, "threads"_a, "specials"_a, "allowed"_a.none(),
           "The ids of all texts, and where each text's begin and end.")
      .def("encode", &encode, "text"_a, "specials"_a, "allowed"_a.none(), "The ids of one text.")
      .def("decode", &decode, "ids"_a, "skip_special"_a, "lenient"_a, "The text of ids.")
      .def_prop_ro("decodes", &TextTokenizer::decodes, "Whether decode() does what the library does.")
      .def_prop_ro("vocab_size", &TextTokenizer::vocabulary, "How many tokens there are.")
      .def_prop_ro(
          "pattern", [](const TextTokenizer& self) { return nb::str(text::name_of(self.pattern()).data()); },
          "The name of its pattern.");
}

}  // namespace drapps
