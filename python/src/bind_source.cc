// Sources, the listing of shards, and shuffled orders: drapps._core.{Source, list_tar, list_packed, permute}.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "drapps/source/array.h"
#include "drapps/source/encoded.h"
#include "drapps/source/packed.h"
#include "drapps/source/permutation.h"
#include "drapps/source/shard_source.h"
#include "drapps/source/tar.h"
#include "shared.h"

namespace nb = nanobind;

namespace drapps {
namespace {

using nb::literals::operator""_a;
template <class T>
using Values = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using FloatRows = nb::ndarray<const float, nb::shape<-1, 4>, nb::c_contig, nb::device::cpu>;
using LabelColumns = nb::typed<nb::dict, nb::str, Values<std::int64_t>>;
using BoxColumns = nb::typed<nb::tuple, Values<std::int64_t>, FloatRows, Values<std::int64_t>>;
using Ranges = nb::typed<nb::tuple, Values<std::uint32_t>, Values<std::uint64_t>, Values<std::uint32_t>>;
using Identity = std::tuple<std::uint64_t, std::int64_t, std::uint64_t>;  // size, mtime in ns, inode
template <class T>
using Made = nb::ndarray<nb::numpy, T, nb::ndim<1>>;

std::string_view path_bytes(nb::handle path) {
  if (nb::isinstance<nb::bytes>(path)) {
    const auto bytes = nb::cast<nb::bytes>(path);
    return {bytes.c_str(), bytes.size()};
  }
  return nb::cast<std::string_view>(path);
}

PathList path_list(const nb::sequence& paths) {
  PathList list;
  for (const nb::handle path : paths) static_cast<void>(value_of(list.append(path_bytes(path))));
  return list;
}

template <class T>
std::vector<T> vector_of(const Values<T>& values) {
  return {values.data(), values.data() + values.size()};
}

Targets targets_of(const std::optional<LabelColumns>& labels, const std::optional<BoxColumns>& boxes) {
  Targets targets;
  if (labels) {
    for (const auto& [name, values] : *labels) {
      targets.labels.push_back({nb::cast<std::string>(name), vector_of(nb::cast<Values<std::int64_t>>(values))});
    }
  }
  if (boxes) {
    const auto offsets = vector_of(nb::cast<Values<std::int64_t>>((*boxes)[0]));
    const auto edges = nb::cast<FloatRows>((*boxes)[1]);
    targets.box_offsets.assign(offsets.begin(), offsets.end());
    for (std::size_t i = 0; i < edges.shape(0); ++i) {
      const float* edge = edges.data() + 4 * i;
      targets.boxes.push_back({edge[0], edge[1], edge[2], edge[3]});
    }
    targets.box_labels = vector_of(nb::cast<Values<std::int64_t>>((*boxes)[2]));
  }
  return targets;
}

SharedSource files(const nb::sequence& paths, const std::optional<LabelColumns>& labels,
                   const std::optional<nb::sequence>& masks, const std::optional<BoxColumns>& boxes) {
  return {
      value_of(FileSource::make(path_list(paths), masks ? path_list(*masks) : PathList{}, targets_of(labels, boxes)))};
}

/// Python objects that stay alive with a source, and die under the GIL.
std::shared_ptr<std::vector<nb::object>> keeper() {
  return {new std::vector<nb::object>, [](std::vector<nb::object>* held) { with_gil([held] { delete held; }); }};
}

SharedSource memory(const nb::sequence& records, const std::optional<LabelColumns>& labels,
                    const std::optional<nb::sequence>& masks, const std::optional<BoxColumns>& boxes) {
  auto kept = keeper();
  const auto spans = [&](const nb::sequence& given) {
    std::vector<MemorySource::Bytes> bytes;
    for (const nb::handle record : given) {
      const auto held = nb::cast<nb::bytes>(record);
      bytes.emplace_back(static_cast<const std::uint8_t*>(held.data()), held.size());
      kept->push_back(held);
    }
    return bytes;
  };
  auto images = spans(records);
  auto mask_images = masks ? spans(*masks) : std::vector<MemorySource::Bytes>{};
  return {value_of(MemorySource::make(std::move(images), kept, std::move(mask_images), targets_of(labels, boxes)))};
}

SharedSource views(const Values<std::uint64_t>& addresses, const Values<std::uint64_t>& lengths, nb::object owner,
                   const nb::sequence& paths, const std::optional<LabelColumns>& labels) {
  if (addresses.size() != lengths.size()) throw nb::value_error("there must be as many lengths as addresses");
  auto kept = keeper();
  kept->push_back(std::move(owner));
  std::vector<MemorySource::Bytes> images;
  images.reserve(addresses.size());
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the other side of an array of addresses
    images.emplace_back(reinterpret_cast<const std::uint8_t*>(addresses.data()[i]), lengths.data()[i]);
  }
  return {
      value_of(MemorySource::make(std::move(images), kept, {}, targets_of(labels, std::nullopt), path_list(paths)))};
}

using Shape = std::vector<std::int64_t>;
/// Name, dtype, address of row 0, shape and strides in bytes, rows first.
using ArrayArgs = std::tuple<std::string, std::string, std::uint64_t, Shape, Shape>;

Dtype dtype_of(std::string_view name) {
  for (std::size_t i = 0; i < kDtypes; ++i) {
    if (name_of(static_cast<Dtype>(i)) == name) return static_cast<Dtype>(i);
  }
  throw nb::value_error(("no array is of dtype " + std::string(name)).c_str());
}

template <class T>
const T* pointer_of(std::uint64_t address) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the other side of an array's address
  return reinterpret_cast<const T*>(address);
}

Array column_of(const ArrayArgs& args) {
  const auto& [name, dtype, address, shape, strides] = args;
  if (shape.empty() || shape.size() != strides.size()) throw nb::value_error("an array has rows, and strides for each");
  Array array{.name = name,
              .dtype = dtype_of(dtype),
              .row_shape = {shape.begin() + 1, shape.end()},
              .data = pointer_of<std::byte>(address),
              .stride = strides[0],
              .rows = static_cast<std::uint64_t>(shape[0])};
  auto expected = static_cast<std::int64_t>(size_of(array.dtype));
  for (std::size_t i = shape.size(); i-- > 1;) {
    if (shape[i] > 1 && strides[i] != expected) {
      throw nb::value_error(("the rows of array '" + name + "' have gaps").c_str());
    }
    expected *= shape[i];
  }
  return array;
}

PictureArray picture_of(const ArrayArgs& args) {
  const auto& [name, dtype, address, shape, strides] = args;
  if (shape.size() != 4 || strides.size() != 4 || dtype != "uint8") {
    throw nb::value_error("an array of pictures is uint8, (rows, channels, height, width)");
  }
  for (std::size_t i = 1; i < 4; ++i) {
    if (shape[i] < 0 || shape[i] > INT32_MAX) throw nb::value_error("pictures of that size do not fit memory");
  }
  return {.name = name,
          .layout = {.channels = static_cast<std::int32_t>(shape[1]),
                     .extent = {static_cast<std::int32_t>(shape[2]), static_cast<std::int32_t>(shape[3])},
                     .channel_stride = strides[1],
                     .row_stride = strides[2],
                     .pixel_stride = strides[3]},
          .data = pointer_of<std::uint8_t>(address),
          .stride = strides[0],
          .rows = static_cast<std::uint64_t>(shape[0])};
}

SharedSource arrays(const std::vector<ArrayArgs>& columns, const std::optional<ArrayArgs>& picture,
                    const std::optional<Values<std::int64_t>>& subset, nb::object owner) {
  auto kept = keeper();
  kept->push_back(std::move(owner));
  std::vector<Array> parts;
  parts.reserve(columns.size());
  for (const ArrayArgs& column : columns) parts.push_back(column_of(column));
  std::shared_ptr<const std::vector<std::uint64_t>> rows;
  if (subset) {
    rows = std::make_shared<const std::vector<std::uint64_t>>(subset->data(), subset->data() + subset->size());
  }
  return {value_of(ArraySource::make(std::move(parts), picture ? std::optional(picture_of(*picture)) : std::nullopt,
                                     std::move(rows), std::move(kept)))};
}

ShardRanges ranges_of(const Ranges& ranges) {
  return {.shard = vector_of(nb::cast<Values<std::uint32_t>>(ranges[0])),
          .offset = vector_of(nb::cast<Values<std::uint64_t>>(ranges[1])),
          .length = vector_of(nb::cast<Values<std::uint32_t>>(ranges[2]))};
}

SharedSource shards(const nb::sequence& paths, const std::vector<Identity>& identities, const Ranges& images,
                    const std::optional<LabelColumns>& labels, const std::optional<Ranges>& masks) {
  std::vector<FileIdentity> files;
  files.reserve(identities.size());
  for (const auto& [size, mtime_ns, inode] : identities) files.push_back({size, mtime_ns, inode});
  return {value_of(ShardSource::make(path_list(paths), files, ranges_of(images),
                                     masks ? ranges_of(*masks) : ShardRanges{}, targets_of(labels, std::nullopt)))};
}

// ---- listing shards

Identity tuple_of(const FileIdentity& identity) { return {identity.size, identity.mtime_ns, identity.inode}; }

/// What `list` makes of the file, without the GIL; or SampleError naming the file.
template <class T, class List>
std::pair<Identity, T> listed(const std::string& path, const List& list) {
  Error error;
  {
    const WithoutGil released;
    auto file = FileWindow::open(path.c_str());
    if (file.ok()) {
      Result<T> listing = list(*file);
      Status unchanged = file->check_unchanged();
      if (listing.ok() && unchanged.ok()) return {tuple_of(file->identity()), std::move(*listing)};
      error = unchanged.ok() ? std::move(listing).error() : std::move(unchanged).error();
    } else {
      error = std::move(file).error();
    }
  }
  error.stage = Stage::kSetup;
  error.path = path;
  PyErr_SetObject(nb::module_::import_("drapps._core").attr("SampleError").ptr(), error_args(error).ptr());
  throw nb::python_error();
}

template <class T>
Made<T> array_of(std::vector<T> values) {
  auto* owned = new std::vector<T>(std::move(values));
  const nb::capsule owner(owned, [](void* held) noexcept { delete static_cast<std::vector<T>*>(held); });
  return Made<T>(owned->data(), {owned->size()}, owner);
}

nb::bytes bytes_of(std::string_view text) { return nb::bytes(text.data(), text.size()); }

nb::typed<nb::tuple, Identity, nb::bytes, Made<std::uint64_t>, Made<std::uint64_t>, Made<std::uint64_t>,
          std::vector<nb::bytes>>
tar(nb::handle path, const std::vector<std::string>& keep) {
  auto [identity, listing] =
      listed<TarListing>(std::string(path_bytes(path)), [&](FileWindow& file) { return list_tar(file, keep); });
  nb::list contents;
  for (const std::string& content : listing.contents) contents.append(bytes_of(content));
  return nb::make_tuple(identity, bytes_of(listing.names), array_of(std::move(listing.offset)),
                        array_of(std::move(listing.size)), array_of(std::move(listing.kept)), contents);
}

PackedInteger integer_of(std::string_view name) {
  if (name == "signed") return PackedInteger::kSigned;
  if (name == "unsigned") return PackedInteger::kUnsigned;
  if (name == "decimal") return PackedInteger::kDecimal;
  throw nb::value_error("an integer is signed, unsigned or decimal");
}

nb::typed<nb::tuple, Identity, Made<std::uint64_t>, Made<std::uint32_t>, std::vector<Made<std::int64_t>>> packed(
    nb::handle path, std::vector<std::int64_t> sizes, std::size_t image,
    const std::vector<std::tuple<std::size_t, std::string>>& labels) {
  PackedColumns columns{.sizes = std::move(sizes), .image = image, .labels = {}};
  for (const auto& [column, integer] : labels) columns.labels.push_back({column, integer_of(integer)});
  auto [identity, listing] = listed<PackedListing>(std::string(path_bytes(path)),
                                                   [&](FileWindow& file) { return list_packed(file, columns); });
  nb::list values;
  for (std::vector<std::int64_t>& column : listing.labels) values.append(nb::cast(array_of(std::move(column))));
  return nb::make_tuple(identity, array_of(std::move(listing.offset)), array_of(std::move(listing.length)), values);
}

using Positions = nb::ndarray<std::uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

void permute(const Positions& positions, std::uint64_t size, std::uint64_t seed, std::uint32_t epoch) {
  if (size > Permutation::kMaxSize) throw nb::value_error("an order has at most 2^48 samples");
  const std::span<std::uint64_t> places(positions.data(), positions.size());
  if (std::ranges::any_of(places, [size](std::uint64_t place) { return place >= size; })) {
    throw nb::index_error("no such position");
  }
  Permutation(size, seed, epoch).at(places);
}

nb::dict storage_identity(const SharedSource& self) {
  StorageIdentity identity;
  {
    const WithoutGil released;
    identity = self.source->storage_identity();
  }
  nb::dict report;
  report["kind"] = system_text(identity.kind);
  report["path"] = system_text(identity.path);
  report["mount"] = system_text(identity.mount);
  report["filesystem"] = system_text(identity.filesystem);
  report["device"] = system_text(identity.device);
  return report;
}

}  // namespace

void bind_source(nb::module_& module) {
  nb::class_<SharedSource>(module, "Source", "Records by index: encoded images, and what belongs to each.")
      .def_static("files", &files, "paths"_a, "labels"_a = nb::none(), "masks"_a = nb::none(), "boxes"_a = nb::none(),
                  "One file per image. Nothing is opened before it is read.")
      .def_static("memory", &memory, "records"_a, "labels"_a = nb::none(), "masks"_a = nb::none(),
                  "boxes"_a = nb::none(), "Encoded images in memory, not copied.")
      .def_static("views", &views, "addresses"_a, "lengths"_a, "owner"_a, "paths"_a, "labels"_a = nb::none(),
                  "Encoded images in memory that `owner` keeps, not copied. Where an address is 0, the image is the "
                  "next of `paths`.")
      .def_static(
          "arrays", &arrays, "columns"_a, "picture"_a, "subset"_a, "owner"_a,
          "Rows of arrays that `owner` keeps, not copied: (name, dtype, address, shape, strides in bytes) each. "
          "`picture` is one of uint8, (rows, channels, height, width), in any strides, or None; its column comes "
          "first. Record i is row subset[i], or row i.")
      .def_static("shards", &shards, "paths"_a, "identities"_a, "images"_a, "labels"_a = nb::none(),
                  "masks"_a = nb::none(),
                  "Encoded images inside larger files, as (shard, offset, length) columns. Identities are those of "
                  "list_tar or list_packed; a shard that has changed since is an error of the sample.")
      .def("__len__", [](const SharedSource& self) { return self.source->size(); })
      .def(
          "hint",
          [](const SharedSource& self, std::uint64_t index) {
            if (index >= self.source->size()) throw nb::index_error("no such sample");
            const Hint hint = self.source->hint(index);
            return nb::make_tuple(hint.bytes, hint.work);
          },
          "index"_a, "(bytes, pixels) of a record, 0 where not yet known.")
      .def("storage_identity", &storage_identity,
           "What the storage of its records is, as far as the first file of it tells: texts under 'kind' ('files', "
           "'emulated', or 'memory' where there is no file), 'path', 'mount', 'filesystem' and 'device', empty where "
           "not known.");

  module.def("list_tar", &tar, "path"_a, "keep"_a,
             "(identity, names with a NUL after each, offsets, sizes, indices of the members with an extension of "
             "`keep`, their contents). Raises SampleError.");
  module.def("list_packed", &packed, "path"_a, "sizes"_a, "image"_a, "labels"_a,
             "(identity, offsets, lengths, one array per label). `sizes` are the bytes of each column, -1 where they "
             "stand in the sample; labels are (column, 'signed' | 'unsigned' | 'decimal'). Raises SampleError.");
  module.def("permute", &permute, "positions"_a, "size"_a, "seed"_a, "epoch"_a,
             "Replaces positions, uint64, by the samples at them in the shuffled order of `size` samples.");
}

}  // namespace drapps
