// Pixels that are made when they are asked for: drapps._core.Pixels, for what stands in Pillow's place in worker
// processes.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "drapps/base/caught.h"
#include "drapps/decode/jpeg/plain_header.h"
#include "drapps/kernel/normalize.h"
#include "drapps/kernel/planes.h"
#include "drapps/modality/pixel_maker.h"
#include "shared.h"

namespace nb = nanobind;

namespace drapps {
namespace {

using nb::literals::operator""_a;
using Floats = nb::ndarray<float, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using FlatFloats = nb::ndarray<float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using ConstFlatFloats = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using FlatBytes = nb::ndarray<std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using ConstFlatBytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using ByteArray = nb::ndarray<std::uint8_t, nb::ndim<3>, nb::device::cpu>;
using ConstByteArray = nb::ndarray<const std::uint8_t, nb::ndim<3>, nb::device::cpu>;
using Region = std::tuple<std::int32_t, std::int32_t, std::int32_t, std::int32_t>;

using Size = std::tuple<std::int32_t, std::int32_t>;     // width, height
using Box = std::tuple<double, double, double, double>;  // left, top, right, bottom
using Boxed = std::tuple<Size, Box>;                     // the size of a picture, and a box in it

kernel::Filter filter_of(bool bicubic) { return bicubic ? kernel::Filter::kBicubic : kernel::Filter::kBilinear; }

kernel::ResizeBox box_of(const Boxed& boxed, Extent out, bool bicubic) {
  const auto& [size, box] = boxed;
  const auto [width, height] = size;
  const std::array<float, 4> edges{static_cast<float>(std::get<0>(box)), static_cast<float>(std::get<1>(box)),
                                   static_cast<float>(std::get<2>(box)), static_cast<float>(std::get<3>(box))};
  const bool within = edges[0] >= 0 && edges[0] < edges[2] && edges[2] <= static_cast<float>(width) && edges[1] >= 0 &&
                      edges[1] < edges[3] && edges[3] <= static_cast<float>(height);
  if (!within || out.width <= 0 || out.height <= 0) throw nb::value_error("a box with an area, within the picture");
  return {{height, width}, edges, out, filter_of(bicubic)};
}

/// The thread's PixelMaker: each has one, so that the pictures of a process follow each other through the same memory.
PixelMaker& maker() {
  thread_local PixelMaker instance(MemoryLedger::unlimited());  // NOLINT(clang-diagnostic-exit-time-destructors)
  return instance;
}

/// The value, or MemoryError where there is none, or ValueError.
template <class T>
T checked(Result<T> result) {
  if (result.ok()) return std::move(result).value();
  const Error& error = result.error();
  const bool memory = error.code == ErrorCode::kResourceExhausted;
  PyErr_SetString(memory ? PyExc_MemoryError : PyExc_ValueError, error.message.c_str());
  throw nb::python_error();
}

template <class Work>
auto without_gil(const Work& work) {
  const WithoutGil release;
  return catching(work);
}

/// The bytes of a JPEG, or planes.
class Pixels {
 public:
  static std::optional<Pixels> judged(nb::bytes file, const SharedIndexes* indexes) {
    const std::span<const std::uint8_t> bytes(static_cast<const std::uint8_t*>(file.data()), file.size());
    const bool indexed = indexes != nullptr && bytes.size() >= jpeg::SharedIndexStore::kLeastFile;
    jpeg::IndexUse index;
    const std::optional<SoundJpeg> jpeg = checked(without_gil([&] {
      if (indexed) index = {indexes->store.get(), indexes->store->key_of(bytes)};
      return maker().judge(bytes);
    }));
    if (!jpeg) return std::nullopt;
    Pixels pixels;
    pixels.source_ = {.file = bytes, .jpeg = *jpeg, .planes = {}, .index = index};
    pixels.file_ = std::move(file);
    if (indexed) pixels.indexes_ = indexes->store;
    return pixels;
  }

  std::int32_t height() const { return source_.extent().height; }
  std::int32_t width() const { return source_.extent().width; }
  std::int32_t channels() const { return source_.channels(); }
  std::size_t nbytes() const {
    return source_.file.empty() ? interleaved_size(source_.extent(), source_.channels()) : source_.file.size();
  }
  bool is_file() const { return !source_.file.empty(); }

  Pixels planes(const Region& rect, std::uint8_t orientation, bool gray) const {
    return kept([&] { return maker().make(source_, part_of(rect, orientation, gray)); });
  }

  Pixels resized(const Region& rect, std::uint8_t orientation, bool gray, std::int32_t height, std::int32_t width,
                 bool bicubic, bool pillow13, const std::optional<Boxed>& boxed) const {
    const Extent extent{height, width};
    const auto box = boxed ? std::optional(box_of(*boxed, extent, bicubic)) : std::nullopt;
    const PixelTarget target{.extent = extent,
                             .filter = filter_of(bicubic),
                             .order = pillow13 ? kernel::PassOrder::kPillow13 : kernel::PassOrder::kHorizontalFirst,
                             .box = box};
    return kept([&] { return maker().resize(source_, part_of(rect, orientation, gray), target); });
  }

  nb::bytes interleaved(const Region& rect, std::uint8_t orientation, bool gray, std::int32_t pixel_bytes,
                        std::uint8_t fourth) const {
    const ImageView view = region_view(rect, orientation, gray);
    if (pixel_bytes != 1 && pixel_bytes != 3 && pixel_bytes != 4) throw nb::value_error("pixels of 1, 3 or 4 bytes");
    const std::size_t size = interleaved_size({view.height, view.width}, pixel_bytes);
    nb::bytes out = nb::steal<nb::bytes>(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(size)));
    if (!out.is_valid()) throw nb::python_error();
    auto* data = reinterpret_cast<std::uint8_t*>(PyBytes_AsString(out.ptr()));  // which nobody has seen yet
    interleave(view, pixel_bytes, fourth, {data, size});
    return out;
  }

  void to_bytes(const Region& rect, std::uint8_t orientation, bool gray, std::int32_t pixel_bytes, const FlatBytes& out,
                bool backwards, bool luma) const {
    ImageView view = region_view(rect, orientation, gray, luma);
    const bool fits = (pixel_bytes == 1 || pixel_bytes == 3) &&
                      out.shape(0) == interleaved_size({view.height, view.width}, pixel_bytes);
    if (!fits) throw nb::value_error("pixels of 1 or 3 bytes, and as many bytes as they have");
    if (backwards) {
      view.data = view.plane(view.channels - 1);
      view.plane_stride = -view.plane_stride;
    }
    interleave(view, pixel_bytes, 0, {out.data(), out.shape(0)});
  }

  void to_normalized(const Region& rect, std::uint8_t orientation, bool gray, const std::vector<double>& mean,
                     const std::vector<double>& std, const FlatFloats& out, bool planes) const {
    const ImageView view = region_view(rect, orientation, gray);
    const auto channels = static_cast<std::int32_t>(mean.size());
    if (out.shape(0) != interleaved_size({view.height, view.width}, channels)) {
      throw nb::value_error("as many floats as there are means for each pixel");
    }
    const std::vector<float> means(mean.begin(), mean.end()), stds(std.begin(), std.end());
    const Status status = maker().normalize(view, means, stds, planes ? Layout::kNchw : Layout::kNhwc, out.data());
    if (!status.ok()) throw nb::value_error(status.error().message.c_str());
  }

  void to_floats(const Region& rect, std::uint8_t orientation, bool gray, const Floats& out) const {
    const ImageView view = region_view(rect, orientation, gray);
    const auto channels = static_cast<std::int32_t>(out.shape(0));
    const bool fits = out.shape(1) == static_cast<std::size_t>(view.height) &&
                      out.shape(2) == static_cast<std::size_t>(view.width) &&
                      (channels == view.channels || (channels == 3 && view.channels == 1));
    if (!fits) throw nb::value_error("floats of another shape");
    divide_by_255(view, channels, out.data());
  }

 private:
  static PixelPart part_of(const Region& rect, std::uint8_t orientation, bool gray, bool luma = false) {
    const auto [top, left, height, width] = rect;
    return {.rect = {top, left, height, width}, .orientation = orientation, .gray = gray, .luma = luma};
  }

  /// The GIL stays where nothing is decoded.
  ImageView region_view(const Region& rect, std::uint8_t orientation, bool gray, bool luma = false) const {
    const auto work = [&] { return maker().make(source_, part_of(rect, orientation, gray, luma)); };
    return checked(source_.file.empty() ? work() : without_gil(work));
  }

  /// Planes of its own, with what `work` has made.
  template <class Work>
  static Pixels kept(const Work& work) {
    Pixels pixels;
    pixels.buffer_ = std::make_unique<ImageBuffer>(MemoryLedger::unlimited());
    pixels.source_.planes = checked(without_gil([&]() -> Result<ImageView> {
      Result<ImageView> view = work();
      if (!view.ok()) return view;
      Result<ImageView> own = pixels.buffer_->reshape(view->channels, view->height, view->width);
      if (own.ok()) kernel::copy(*own, *view);
      return own;
    }));
    return pixels;
  }

  nb::object file_;                                  // whose bytes the source reads
  std::shared_ptr<jpeg::SharedIndexStore> indexes_;  // that the source knows
  std::unique_ptr<ImageBuffer> buffer_;
  PixelSource source_;
};

/// How three channels of pixels lie, whose rows have no gaps between them; nothing where they lie otherwise.
template <class Array>
std::optional<Layout> layout_of(const Array& array) {
  if (array.shape(0) != 3) return std::nullopt;
  if (array.stride(2) == 1) return Layout::kNchw;
  if (array.stride(2) == 3 && array.stride(0) == 1) return Layout::kNhwc;
  return std::nullopt;
}

template <class Array>
Extent extent_of(const Array& array) {
  return {static_cast<std::int32_t>(array.shape(1)), static_cast<std::int32_t>(array.shape(2))};
}

void resize_bytes(const ByteArray& out, const ConstByteArray& in, bool bicubic) {
  const std::optional<Layout> from = layout_of(in), to = layout_of(out);
  const Extent extent = extent_of(out);
  const std::int64_t row = to == Layout::kNchw ? extent.width : std::int64_t{3} * extent.width;
  const bool dense = out.stride(1) == row && (to == Layout::kNhwc || out.stride(0) == row * extent.height);
  if (!from || !to || !dense) throw nb::value_error("three channels of pixels, and as many in a row without gaps");
  const ArrayPixels pixels{.data = in.data(),
                           .extent = extent_of(in),
                           .layout = *from,
                           .row_stride = in.stride(1),
                           .plane_stride = in.stride(0)};
  checked(without_gil([&]() -> Result<bool> {
    DRAPPS_RETURN_IF_ERROR(maker().resize_array(pixels, extent, filter_of(bicubic), *to, out.data()));
    return true;
  }));
}

void normalize_floats(const FlatFloats& out, const ConstFlatFloats& in, const std::vector<double>& mean,
                      const std::vector<double>& std, bool interleaved) {
  const std::size_t channels = mean.size(), size = in.shape(0);
  if (channels == 0 || channels > kernel::Normalizer::kMaxChannels || std.size() != channels || size % channels != 0 ||
      out.shape(0) != size) {
    throw nb::value_error("1 to 4 means and deviations, and as many floats as before");
  }
  const std::vector<float> means(mean.begin(), mean.end()), stds(std.begin(), std.end());
  const WithoutGil release;
  kernel::normalize_floats(out.data(), in.data(), size / channels, interleaved ? Layout::kNhwc : Layout::kNchw, means,
                           stds);
}

void separate_floats(const FlatFloats& out, const std::vector<ConstFlatFloats>& pictures) {
  std::size_t size = 0;
  bool fits = true;
  for (const ConstFlatFloats& picture : pictures) {
    fits = fits && picture.shape(0) % 3 == 0;
    size += picture.shape(0);
  }
  if (!fits || out.shape(0) != size) {
    throw nb::value_error("pictures of three channels, and as many floats as they have together");
  }
  const WithoutGil release;
  float* next = out.data();
  for (const ConstFlatFloats& picture : pictures) {
    separate({picture.data(), picture.shape(0)}, next);
    next += picture.shape(0);
  }
}

nb::object plain_jpeg_header(const nb::bytes& bytes) {
  const auto header = jpeg::read_plain_header({static_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
  if (!header) return nb::none();
  nb::list layers, texts;
  nb::dict quantizers;
  for (const auto& [id, horizontal, vertical, quantizer] : header->layers) {
    layers.append(nb::make_tuple(id, horizontal, vertical, quantizer));
  }
  for (const auto& [number, values] : header->quantizers) {
    nb::list row;
    for (const std::uint8_t value : values) row.append(value);
    quantizers[nb::int_(number)] = row;
  }
  for (const auto& [marker, body] : header->texts) {
    texts.append(nb::make_tuple(marker, nb::bytes(body.data(), body.size())));
  }
  const auto size = nb::make_tuple(header->extent.width, header->extent.height);
  return nb::make_tuple(header->end, size, layers, quantizers, texts);
}

}  // namespace

void bind_pixels(nb::module_& module) {
  nb::class_<Pixels>(module, "Pixels",
                     "What pixels are made of: the bytes of a JPEG, or planes. Rectangles are (top, left, height, "
                     "width) of it as it is stored; turn is the EXIF orientation that is undone.")
      .def_static(
          "judged", &Pixels::judged, "file"_a, "indexes"_a = nb::none(),
          "The pixels of a JPEG that Pillow reads without an error, whatever its entropy-coded data hold; None for "
          "any other, whose verdict takes decoding. What decoding learns of it is kept among the indexes.")
      .def_prop_ro("height", &Pixels::height)
      .def_prop_ro("width", &Pixels::width)
      .def_prop_ro("channels", &Pixels::channels, "1 or 3.")
      .def_prop_ro("nbytes", &Pixels::nbytes, "Memory that is kept.")
      .def_prop_ro("is_file", &Pixels::is_file, "Not decoded yet.")
      .def("planes", &Pixels::planes, "rect"_a, "turn"_a, "gray"_a, "Planes of a part, turned, and gray where asked.")
      .def("resized", &Pixels::resized, "rect"_a, "turn"_a, "gray"_a, "height"_a, "width"_a, "bicubic"_a, "pillow13"_a,
           "boxed"_a = nb::none(),
           "The planes of a part, resized as Pillow does, bilinear or bicubic, in the pass order of Pillow 13 or of "
           "those "
           "before; or a box of a picture, given with its size, of which it is what read_by says.")
      .def("interleaved", &Pixels::interleaved, "rect"_a, "turn"_a, "gray"_a, "pixel_bytes"_a, "fourth"_a,
           "The planes of a part as bytes: 1, 3 or 4 for each pixel, with the value `fourth` of the last.")
      .def("to_bytes", &Pixels::to_bytes, "rect"_a, "turn"_a, "gray"_a, "pixel_bytes"_a, "out"_a, "backwards"_a = false,
           "luma"_a = false,
           "As interleaved(), 1 or 3 bytes for each pixel, into an array; backwards, blue comes first; luma, one "
           "byte as libjpeg makes a file in colour gray.")
      .def("to_normalized", &Pixels::to_normalized, "rect"_a, "turn"_a, "gray"_a, "mean"_a, "std"_a, "out"_a,
           "planes"_a = false,
           "The planes of a part divided by 255, then (x - mean) / std: as torchvision's v2.ToDtype divides, pixel "
           "after pixel, or "
           "as its ToTensor, plane after plane.")
      .def("to_floats", &Pixels::to_floats, "rect"_a, "turn"_a, "gray"_a, "out"_a,
           "The planes of a part divided by 255, into (channels, height, width), as torchvision's to_tensor.");
  module.def(
      "plain_jpeg_header", &plain_jpeg_header, "bytes"_a,
      "What the header of a sequential JPEG of 8 bits says that lies within the bytes: the offset of its scan, (width, "
      "height), (id, horizontal, vertical, quantizer) of each layer, quantizers by number, row by row, and "
      "(marker, body) of each application segment and comment. None for any other, and where such a segment "
      "holds EXIF, XMP, a profile or the like.");
  module.def(
      "read_by",
      [](const Boxed& boxed, const Size& out, bool bicubic) {
        const Rect read = box_of(boxed, {std::get<1>(out), std::get<0>(out)}, bicubic).read();
        return std::tuple(read.left, read.top, read.left + read.width, read.top + read.height);
      },
      "boxed"_a, "out"_a, "bicubic"_a, "What a resize of a box reads of the picture: left, top, right, bottom.");
  module.def(
      "resize_bytes", &resize_bytes, "out"_a, "bytes"_a, "bicubic"_a,
      "Resizes as torch's interpolate(antialias=True): arrays of (3, height, width), of planes or of interleaved "
      "pixels.");
  module.def(
      "scale_bytes",
      [](const FlatFloats& out, const ConstFlatBytes& in) {
        if (out.shape(0) != in.shape(0)) throw nb::value_error("as many floats as bytes");
        scale_bytes({in.data(), in.shape(0)}, out.data());
      },
      "out"_a, "bytes"_a, "Divides by 255, as torchvision's v2.ToDtype.");
  module.def("separate_floats", &separate_floats, "out"_a, "pictures"_a,
             "The channels of interleaved pixels, one after the other, of one picture behind another.");
  module.def("normalize_floats", &normalize_floats, "out"_a, "floats"_a, "mean"_a, "std"_a, "interleaved"_a,
             "(floats - mean) / std by channel, as torch does it, of planes or of interleaved pixels.");
}

}  // namespace drapps
