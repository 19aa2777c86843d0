// Batches of token ids: drapps._core.TextColumn, and what becomes of its rows.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "drapps/text/collate/mask.h"
#include "drapps/text/collate/pad.h"
#include "shared.h"
#include "text_column.h"

namespace nb = nanobind;

namespace drapps {
namespace {

using nb::literals::operator""_a;
using Values = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
T or_raise(Result<T> result) {
  if (!result.ok()) throw nb::value_error(result.error().message.c_str());
  return std::move(result).value();
}

text::Stored stored_of(const Values& values) {
  using text::Stored;
  const nb::dlpack::dtype type = values.dtype();
  const std::pair<nb::dlpack::dtype, Stored> kinds[] = {
      {nb::dtype<std::int8_t>(), Stored::kI8},   {nb::dtype<std::uint8_t>(), Stored::kU8},
      {nb::dtype<std::int16_t>(), Stored::kI16}, {nb::dtype<std::uint16_t>(), Stored::kU16},
      {nb::dtype<std::int32_t>(), Stored::kI32}, {nb::dtype<std::uint32_t>(), Stored::kU32},
      {nb::dtype<std::int64_t>(), Stored::kI64}, {nb::dtype<float>(), Stored::kF32},
      {nb::dtype<double>(), Stored::kF64},
  };
  for (const auto& [each, stored] : kinds) {
    if (each == type) return stored;
  }
  throw nb::value_error("a column has numbers of 8 to 64 bits");
}

/// A chunk of (values, offsets or None, rows, width); bytes are those of texts where there are offsets of `texts`.
text::ColumnChunk chunk_of(const nb::tuple& parts, bool texts, std::vector<nb::object>& kept) {
  const auto values = nb::cast<Values>(parts[0]);
  text::ColumnChunk chunk{.stored = texts ? text::Stored::kBytes : stored_of(values),
                          .values = values.data(),
                          .size = values.size(),
                          .rows = nb::cast<std::size_t>(parts[2]),
                          .width = nb::cast<std::size_t>(parts[3])};
  if (texts && stored_of(values) != text::Stored::kU8) throw nb::value_error("texts are bytes");
  kept.push_back(parts[0]);
  if (!parts[1].is_none()) {
    const auto offsets = nb::cast<Values>(parts[1]);
    const text::Stored stored = stored_of(offsets);
    if (stored != text::Stored::kI32 && stored != text::Stored::kI64)
      throw nb::value_error("offsets are int32 or int64");
    if (offsets.size() != chunk.rows + 1) throw nb::value_error("there is one offset more than there are rows");
    chunk.offsets = offsets.data();
    chunk.wide = stored == text::Stored::kI64;
    kept.push_back(parts[1]);
  }
  return chunk;
}

TextColumn make_column(const nb::list& chunks, bool texts) {
  std::vector<nb::object> kept;
  std::vector<text::ColumnChunk> parts;
  for (const nb::handle each : chunks) parts.push_back(chunk_of(nb::cast<nb::tuple>(each), texts, kept));
  return {or_raise(text::ChunkedColumn::make(std::move(parts))), std::move(kept)};
}

template <class T>
nb::tuple arrays_of(text::Ragged<T> rows) {
  return nb::make_tuple(array_of(std::move(rows.values)), array_of(std::move(rows.begins)));
}

nb::tuple integers(const TextColumn& self, const Integers& rows) {
  const auto take = [&] {
    const WithoutGil released;
    return self.column.integers(span_of(rows));
  };
  return arrays_of(or_raise(take()));
}

nb::tuple doubles(const TextColumn& self, const Integers& rows) {
  const auto take = [&] {
    const WithoutGil released;
    return self.column.doubles(span_of(rows));
  };
  return arrays_of(or_raise(take()));
}

/// Refuses what does not say where rows begin among so many values.
void check_begins(const Integers& begins, std::size_t values) {
  const text::Begins all = span_of(begins);
  bool fits = !all.empty() && all.front() == 0 && all.back() == static_cast<std::int64_t>(values);
  for (std::size_t row = 0; fits && row + 1 < all.size(); ++row) fits = all[row] <= all[row + 1];
  if (!fits) throw nb::value_error("rows must begin at 0, one behind the other, and end with the values");
}

void check_width(const Integers& begins, std::size_t width) {
  const text::Begins all = span_of(begins);
  for (std::size_t row = 0; row + 1 < all.size(); ++row) {
    if (static_cast<std::size_t>(all[row + 1] - all[row]) > width)
      throw nb::value_error("a row is longer than the width");
  }
}

nb::ndarray<nb::numpy, std::int64_t> pad(const Integers& values, const Integers& begins, std::size_t width,
                                         std::int64_t fill, bool left) {
  check_begins(begins, values.size());
  check_width(begins, width);
  std::vector<std::int64_t> out((begins.size() - 1) * width);
  {
    const WithoutGil released;
    text::pad_rows(span_of(values), span_of(begins), width, fill, left, out);
  }
  return array_of(std::move(out));
}

nb::ndarray<nb::numpy, std::int64_t> mark(const Integers& begins, std::size_t width, bool left) {
  check_begins(begins, begins.size() == 0 ? 0 : static_cast<std::size_t>(begins.data()[begins.size() - 1]));
  check_width(begins, width);
  std::vector<std::int64_t> out((begins.size() - 1) * width);
  {
    const WithoutGil released;
    text::mark_rows(span_of(begins), width, left, out);
  }
  return array_of(std::move(out));
}

nb::tuple flatten(const Integers& begins, std::size_t values, std::int64_t first) {
  check_begins(begins, values);
  std::vector<std::int64_t> positions(values);
  std::vector<std::int32_t> numbers(values);
  {
    const WithoutGil released;
    text::count_in_rows(span_of(begins), first, positions);
    text::number_rows(span_of(begins), numbers);
  }
  return nb::make_tuple(array_of(std::move(positions)), array_of(std::move(numbers)));
}

nb::tuple mask(const Integers& ids, std::size_t width, const Integers& special, const nb::object& places,
               const text::Masking& masking, std::uint64_t seed, std::uint32_t epoch, std::uint64_t position) {
  const Integers offsets = masking.whole_words ? nb::cast<Integers>(places) : ids;
  const bool fits = special.size() == ids.size() && (!masking.whole_words || offsets.size() == 2 * ids.size()) &&
                    (width == 0 ? ids.size() == 0 : ids.size() % width == 0) && masking.vocabulary > 0;
  if (!fits) throw nb::value_error("ids, special tokens and places must be of one shape");
  std::vector<std::int64_t> masked(ids.data(), ids.data() + ids.size());
  std::vector<std::int64_t> labels(ids.size());
  {
    const WithoutGil released;
    text::mask_tokens({.ids = masked,
                       .labels = labels,
                       .special = span_of(special),
                       .places = masking.whole_words ? span_of(offsets) : std::span<const std::int64_t>(),
                       .width = width},
                      masking, {.seed = seed, .epoch = epoch, .position = position});
  }
  return nb::make_tuple(array_of(std::move(masked)), array_of(std::move(labels)));
}

nb::ndarray<nb::numpy, std::int64_t> special(const Integers& ids, const Integers& sorted) {
  const auto find = [&] {
    const WithoutGil released;
    return text::special_mask(span_of(ids), span_of(sorted));
  };
  return array_of(find());
}

}  // namespace

void bind_collate(nb::module_& module) {
  using text::Masking;
  nb::class_<TextColumn>(module, "TextColumn", "Rows of a column of Arrow, read where they lie.")
      .def_static(
          "make", &make_column, "chunks"_a, "texts"_a,
          "A column of chunks (values, offsets or None, rows, width of a row without offsets). Raises ValueError.")
      .def("__len__", [](const TextColumn& self) { return self.column.rows(); })
      .def("integers", &integers, "rows"_a, "The whole numbers of rows as int64, and where each row begins.")
      .def("doubles", &doubles, "rows"_a, "The numbers of rows as float64, and where each row begins.");
  nb::class_<Masking>(module, "TextMasking", "What becomes of tokens in masked language modelling.")
      .def(nb::init<>())
      .def_rw("probability", &Masking::probability)
      .def_rw("replaced", &Masking::replaced)
      .def_rw("random", &Masking::random)
      .def_rw("mask_id", &Masking::mask_id)
      .def_rw("vocabulary", &Masking::vocabulary)
      .def_rw("whole_words", &Masking::whole_words);
  module.def("text_pad", &pad, "values"_a, "begins"_a, "width"_a, "fill"_a, "left"_a,
             "Rows as those of a matrix, flat; raises ValueError for a row that is longer than the width.");
  module.def("text_mark", &mark, "begins"_a, "width"_a, "left"_a,
             "1 for the values of such a matrix, and 0 for filling.");
  module.def("text_flatten", &flatten, "begins"_a, "values"_a, "first"_a,
             "The place of each value in its row, counted from first, and the number of its row.");
  module.def("text_mask", &mask, "ids"_a, "width"_a, "special"_a, "places"_a.none(), "masking"_a, "seed"_a, "epoch"_a,
             "position"_a, "Masked ids and their labels; row i draws at position + i.");
  module.def("text_special", &special, "ids"_a, "sorted"_a, "1 for each id that is among the sorted ones.");
}

}  // namespace drapps
