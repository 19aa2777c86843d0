// One picture at a time from Python: for tests, tools and the curious. Loaders do not come through here.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "drapps/base/caught.h"
#include "drapps/decode/decoder.h"
#include "drapps/decode/jpeg/coefficients.h"
#include "drapps/device/decode_trial.h"
#include "drapps/device/open.h"
#include "drapps/modality/form_trial.h"
#include "shared.h"

namespace nb = nanobind;

namespace drapps {
namespace {

using Region = std::tuple<std::int32_t, std::int32_t, std::int32_t, std::int32_t>;
using Pixels = nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<3>>;

std::span<const std::uint8_t> view_of(const nb::bytes& bytes) {
  return {static_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
}

template <class Mode>
Mode mode_of(std::string_view what, std::string_view name,
             std::initializer_list<std::pair<std::string_view, Mode>> modes) {
  std::string names;
  for (const auto& [known, mode] : modes) {
    if (name == known) return mode;
    names.append(names.empty() ? "" : ", ").append(known);
  }
  throw nb::value_error((std::string(what) + " is one of " + names).c_str());
}

DecodeOptions options_of(std::string_view color, std::string_view exif, std::string_view depth,
                         std::string_view cmyk = "pillow") {
  return {
      .color = mode_of<ColorMode>(
          "color", color, {{"rgb", ColorMode::kRgb}, {"gray", ColorMode::kGray}, {"indices", ColorMode::kIndices}}),
      .exif = mode_of<ExifMode>("exif", exif, {{"ignore", ExifMode::kIgnore}, {"apply", ExifMode::kApply}}),
      .depth = mode_of<DepthMode>(
          "depth", depth, {{"raise", DepthMode::kRaise}, {"clip", DepthMode::kClip}, {"scale", DepthMode::kScale}}),
      .cmyk = mode_of<CmykMode>("cmyk", cmyk, {{"pillow", CmykMode::kPillow}, {"tensorflow", CmykMode::kTensorflow}})};
}

[[noreturn]] void raise(const Error& error) {
  const nb::object type = nb::module_::import_("drapps._core").attr("SampleError");
  const nb::tuple arguments = nb::make_tuple(std::string(name_of(error.stage)), std::string(name_of(error.code)),
                                             error.path, error.offset, error.index, error.message);
  PyErr_SetObject(type.ptr(), arguments.ptr());
  throw nb::python_error();
}

/// A thread's decoder and its buffers: the pictures of a test follow each other through the same ones, as in a worker.
struct Tools {
  Decoder decoder{MemoryLedger::unlimited()};
  ImageBuffer pixels{MemoryLedger::unlimited()};
  jpeg::Transcoder transcoder{MemoryLedger::unlimited()};
  std::vector<std::uint8_t> coefficients;
};

Tools& tools() {
  thread_local Tools instance;  // NOLINT(clang-diagnostic-exit-time-destructors): no other thread reads it
  return instance;
}

nb::dict inspect(const nb::bytes& bytes, const std::string& exif) {
  const Result<ImageInfo> info = tools().decoder.inspect(view_of(bytes), options_of("rgb", exif, "clip"));
  if (!info.ok()) raise(info.error());
  constexpr const char* kNames[] = {"jpeg", "png", "webp", "coefficients"};
  nb::dict dict;
  dict["format"] = kNames[static_cast<std::size_t>(info->format)];
  dict["height"] = info->extent.height;
  dict["width"] = info->extent.width;
  dict["orientation"] = info->orientation;
  dict["depth"] = info->depth;
  dict["irregular"] = info->irregular;
  return dict;
}

Pixels decode(const nb::bytes& bytes, const std::optional<Region>& region, const std::string& color,
              const std::string& exif, const std::string& depth, const std::string& cmyk) {
  const DecodeOptions options = options_of(color, exif, depth, cmyk);
  const std::span<const std::uint8_t> data = view_of(bytes);
  Tools& mine = tools();
  auto work = [&]() -> Result<ImageView> {
    const WithoutGil release;
    const Result<ImageInfo> info = mine.decoder.inspect(data, options);
    if (!info.ok()) return info.error();
    Rect rect{0, 0, info->extent.height, info->extent.width};
    if (region) rect = {std::get<0>(*region), std::get<1>(*region), std::get<2>(*region), std::get<3>(*region)};
    return mine.decoder.decode(data, *info, rect, options, mine.pixels);
  };
  const Result<ImageView> view = work();
  if (!view.ok()) raise(view.error());
  const auto height = static_cast<std::size_t>(view->height), width = static_cast<std::size_t>(view->width);
  const auto channels = static_cast<std::size_t>(view->channels);
  auto pixels = std::make_unique<std::uint8_t[]>(height * width * channels);
  for (std::size_t c = 0; c < channels; ++c) {
    for (std::size_t y = 0; y < height; ++y) {
      const std::uint8_t* row = view->row(static_cast<std::int32_t>(c), static_cast<std::int32_t>(y));
      for (std::size_t x = 0; x < width; ++x) pixels[(y * width + x) * channels + c] = row[x];
    }
  }
  std::uint8_t* data_out = pixels.release();
  const nb::capsule owner(data_out, [](void* p) noexcept { delete[] static_cast<std::uint8_t*>(p); });
  return Pixels(data_out, {height, width, channels}, owner);
}

/// Arrays of the device's pixels; None for what is left to the CPU.
nb::list decode_on_device(const std::string& device, const std::vector<nb::bytes>& files, const std::string& color) {
  const std::int32_t channels = options_of(color, "ignore", "clip").color == ColorMode::kGray ? 1 : 3;
  std::vector<std::span<const std::uint8_t>> data;
  data.reserve(files.size());
  for (const nb::bytes& file : files) data.push_back(view_of(file));
  auto work = [&]() -> Result<std::vector<device::TrialPixels>> {
    const WithoutGil release;
    auto opened = device::open_device(device);
    if (!opened.ok()) return std::move(opened).error();
    return device::decode_on(**opened, data, channels);
  };
  Result<std::vector<device::TrialPixels>> trials = work();
  if (!trials.ok()) raise(trials.error());
  nb::list arrays;
  for (device::TrialPixels& trial : *trials) {
    if (!trial.there) {
      arrays.append(nb::none());
      continue;
    }
    auto owned = std::make_unique<std::vector<std::uint8_t>>(std::move(trial.pixels));
    std::uint8_t* const first = owned->data();
    const nb::capsule owner(owned.release(),
                            [](void* p) noexcept { delete static_cast<std::vector<std::uint8_t>*>(p); });
    arrays.append(Pixels(first,
                         {static_cast<std::size_t>(trial.extent.height), static_cast<std::size_t>(trial.extent.width),
                          static_cast<std::size_t>(channels)},
                         owner));
  }
  return arrays;
}

nb::bytes transcode(const nb::bytes& bytes) {
  Tools& mine = tools();
  const std::span<const std::uint8_t> data = view_of(bytes);
  const Status status = [&] {
    const WithoutGil release;
    return mine.transcoder.transcode(data, mine.coefficients);
  }();
  if (!status.ok()) raise(status.error());
  return nb::bytes(mine.coefficients.data(), mine.coefficients.size());
}

nb::dict try_forms_of(const nb::bytes& bytes, std::uint32_t times) {
  const std::span<const std::uint8_t> data = view_of(bytes);
  const Result<PictureTrial> trial = [&] {
    const WithoutGil release;
    return catching([&] { return try_forms(data, times); });
  }();
  if (!trial.ok()) raise(trial.error());
  nb::list forms;
  for (const FormTrial& form : trial->forms) {
    nb::dict entry;
    entry["form"] = form.form;
    entry["holds"] = form.holds;
    entry["bytes"] = form.bytes;
    entry["make_ns"] = form.make_ns;
    entry["whole_ns"] = form.whole_ns;
    entry["region_ns"] = form.region_ns;
    entry["error"] = form.error;
    forms.append(entry);
  }
  nb::dict dict;
  dict["format"] = trial->format;
  dict["depth"] = trial->depth;
  dict["channels"] = trial->channels;
  dict["height"] = trial->extent.height;
  dict["width"] = trial->extent.width;
  dict["bytes"] = trial->bytes;
  dict["forms"] = forms;
  return dict;
}

}  // namespace

void bind_decode(nb::module_& module) {
  module.def(
      "inspect", &inspect, nb::arg("bytes"), nb::arg("exif") = "ignore",
      "What the header and the structural check say of a JPEG, PNG, WebP or coefficient form: format, height, width, "
      "orientation, depth, irregular. Raises SampleError.");
  module.def(
      "decode", &decode, nb::arg("bytes"), nb::arg("region") = nb::none(), nb::arg("color") = "rgb",
      nb::arg("exif") = "ignore", nb::arg("depth") = "raise", nb::arg("cmyk") = "pillow",
      "Pixels of a JPEG, PNG, WebP or coefficient form as uint8 of shape (height, width, 3), or (height, width, 1) for "
      "color='gray'. region is (top, left, height, width). Raises SampleError.");
  module.def("try_forms", &try_forms_of, nb::arg("bytes"), nb::arg("times") = 3,
             "What each form of the cache makes of a picture: bytes, and the thread-CPU ns of making and reading it, "
             "the least of `times`. Raises SampleError.");
  module.def("decode_on_device", &decode_on_device, nb::arg("device"), nb::arg("files"), nb::arg("color") = "rgb",
             "As decode() of each whole file, JPEG or coefficient form, made on a device such as 'cuda:0'; None for a "
             "file that only the CPU decodes. Raises SampleError, for the device too.");
  module.def("transcode", &transcode, nb::arg("jpeg"), "The coefficient form of a JPEG. Raises SampleError.");
}

}  // namespace drapps
