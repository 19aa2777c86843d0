// Binds the kernels for the tests that compare them with Pillow and torch. Not public.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "drapps/base/memory_ledger.h"
#include "drapps/kernel/color.h"
#include "drapps/kernel/level.h"
#include "drapps/kernel/normalize.h"
#include "drapps/kernel/planes.h"
#include "drapps/kernel/resize.h"
#include "shared.h"

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace drapps {
namespace {

template <class T>
T choice(const std::string& name, std::initializer_list<std::pair<const char*, T>> choices) {
  for (const auto& [known, value] : choices) {
    if (name == known) return value;
  }
  throw std::invalid_argument("unknown choice '" + name + "'");
}

kernel::Level level_of(const std::string& name) {
  for (const kernel::Level level : kernel::supported_levels()) {
    if (name == kernel::name_of(level)) return level;
  }
  throw std::invalid_argument("this machine has no level '" + name + "'; levels() lists those it has");
}

/// A picture's planes, from and to interleaved pixels.
struct Picture {
  explicit Picture(std::int32_t channels, std::int32_t height, std::int32_t width) : buffer(MemoryLedger::unlimited()) {
    auto shaped = buffer.reshape(channels, height, width);
    if (!shaped.ok()) fail(shaped.error());
    view = shaped.value();
  }

  explicit Picture(const ConstPixels& pixels)
      : Picture(static_cast<std::int32_t>(pixels.shape(2)), static_cast<std::int32_t>(pixels.shape(0)),
                static_cast<std::int32_t>(pixels.shape(1))) {
    const std::uint8_t* next = pixels.data();
    for (std::int32_t y = 0; y < view.height; ++y) {
      for (std::int32_t x = 0; x < view.width; ++x) {
        for (std::int32_t c = 0; c < view.channels; ++c) view.row(c, y)[x] = *next++;
      }
    }
  }

  NumpyBytes pixels() const {
    const auto shape = {static_cast<std::size_t>(view.height), static_cast<std::size_t>(view.width),
                        static_cast<std::size_t>(view.channels)};
    auto bytes = std::make_unique<std::uint8_t[]>(std::size_t(view.height) * std::size_t(view.width) *
                                                  std::size_t(view.channels));
    std::uint8_t* next = bytes.get();
    for (std::int32_t y = 0; y < view.height; ++y) {
      for (std::int32_t x = 0; x < view.width; ++x) {
        for (std::int32_t c = 0; c < view.channels; ++c) *next++ = view.row(c, y)[x];
      }
    }
    return owned(std::move(bytes), shape);
  }

  static NumpyBytes owned(std::unique_ptr<std::uint8_t[]> bytes, std::initializer_list<std::size_t> shape) {
    std::uint8_t* data = bytes.get();
    nb::capsule owner(bytes.release(), [](void* p) noexcept { delete[] static_cast<std::uint8_t*>(p); });
    return NumpyBytes(data, shape, owner);
  }

  ImageBuffer buffer;
  ImageView view;
};

NumpyBytes resize(const ConstPixels& pixels, std::int32_t height, std::int32_t width, const std::string& filter,
                  const std::string& order, const std::string& level, const std::string& arithmetic) {
  const Picture in(pixels);
  Picture out(in.view.channels, height, width);
  if (filter == "nearest") {
    kernel::resize_nearest(out.view, in.view);
    return out.pixels();
  }
  kernel::Resizer resizer(MemoryLedger::unlimited(), level_of(level));
  const Status status = resizer.resize(
      out.view, in.view,
      choice<kernel::Filter>(filter, {{"bilinear", kernel::Filter::kBilinear}, {"bicubic", kernel::Filter::kBicubic}}),
      choice<kernel::PassOrder>(
          order, {{"horizontal", kernel::PassOrder::kHorizontalFirst}, {"pillow13", kernel::PassOrder::kPillow13}}),
      choice<kernel::Arithmetic>(arithmetic, {{"pillow", kernel::Arithmetic::kPillow},
                                              {"torch_uint8", kernel::Arithmetic::kTorch},
                                              {"torch_uint8_no_antialias", kernel::Arithmetic::kTorchNoAntialias},
                                              {"torch_float", kernel::Arithmetic::kTorchFloat}}));
  if (!status.ok()) fail(status.error());
  return out.pixels();
}

kernel::Normalizer normalizer_of(const std::vector<float>& mean, const std::vector<float>& std, bool raw) {
  if (raw) return kernel::Normalizer::raw();
  if (mean.empty() && std.empty()) return kernel::Normalizer::unit();
  auto normalizer = kernel::Normalizer::standard(mean, std);
  if (!normalizer.ok()) fail(normalizer.error());
  return normalizer.value();
}

NumpyBytes store(const ConstPixels& pixels, const std::vector<float>& mean, const std::vector<float>& std, bool raw,
                 const std::string& dtype, const std::string& layout, bool mirror, const std::string& level) {
  const Picture in(pixels);
  const kernel::RowFormat format{choice<Dtype>(dtype, {{"uint8", Dtype::kUint8},
                                                       {"int32", Dtype::kInt32},
                                                       {"int64", Dtype::kInt64},
                                                       {"float32", Dtype::kFloat32},
                                                       {"bfloat16", Dtype::kBfloat16},
                                                       {"float16", Dtype::kFloat16}}),
                                 choice<Layout>(layout, {{"nchw", Layout::kNchw}, {"nhwc", Layout::kNhwc}})};
  const kernel::Normalizer normalizer = normalizer_of(mean, std, raw);
  const Status status = normalizer.check(in.view.channels, format);
  if (!status.ok()) fail(status.error());
  const std::size_t size = kernel::row_size(format, in.view.channels, in.view.height, in.view.width);
  auto bytes = std::make_unique<std::uint8_t[]>(size);
  normalizer.store(bytes.get(), in.view, format, mirror, level_of(level));
  return Picture::owned(std::move(bytes), {size});
}

NumpyBytes adjust(const ConstPixels& pixels, const std::string& what, double factor, const std::string& level) {
  const Picture in(pixels);
  Picture out(in.view.channels, in.view.height, in.view.width);
  const kernel::Level chosen = level_of(level);
  const auto amount = static_cast<float>(factor);
  if (what == "brightness") {
    kernel::adjust_brightness(out.view, in.view, amount, chosen);
  } else if (what == "contrast") {
    kernel::adjust_contrast(out.view, in.view, amount, chosen);
  } else if (what == "saturation") {
    kernel::adjust_saturation(out.view, in.view, amount, chosen);
  } else if (what == "hue") {
    kernel::adjust_hue(out.view, in.view, factor, chosen);
  } else if (what == "grayscale") {
    kernel::grayscale(out.view, in.view, chosen);
  } else {
    throw std::invalid_argument("unknown adjustment '" + what + "'");
  }
  return out.pixels();
}

NumpyBytes turn(const ConstPixels& pixels, const std::string& how, const std::string& level) {
  const Picture in(pixels);
  const bool sideways = how == "transpose";
  Picture out(in.view.channels, sideways ? in.view.width : in.view.height, sideways ? in.view.height : in.view.width);
  if (how == "horizontal") {
    kernel::flip_horizontal(out.view, in.view, level_of(level));
  } else if (how == "vertical") {
    kernel::flip_vertical(out.view, in.view);
  } else if (sideways) {
    kernel::transpose(out.view, in.view);
  } else {
    throw std::invalid_argument("unknown turn '" + how + "'");
  }
  return out.pixels();
}

NumpyBytes pad(const ConstPixels& pixels, std::int32_t left, std::int32_t top, std::int32_t right, std::int32_t bottom,
               const std::string& mode, const std::vector<std::uint8_t>& value) {
  const Picture in(pixels);
  if (left < 0 || top < 0 || right < 0 || bottom < 0 || value.size() != std::size_t(in.view.channels)) {
    throw std::invalid_argument("borders are not negative, and the value has one byte per channel");
  }
  Picture out(in.view.channels, in.view.height + top + bottom, in.view.width + left + right);
  kernel::pad(out.view, in.view, top, left,
              choice<kernel::PadMode>(mode, {{"constant", kernel::PadMode::kConstant},
                                             {"edge", kernel::PadMode::kEdge},
                                             {"reflect", kernel::PadMode::kReflect},
                                             {"symmetric", kernel::PadMode::kSymmetric}}),
              value);
  return out.pixels();
}

std::vector<std::string> levels() {
  std::vector<std::string> names;
  for (const kernel::Level level : kernel::supported_levels()) names.emplace_back(kernel::name_of(level));
  return names;
}

}  // namespace

void bind_kernel(nb::module_& m) {
  nb::module_ kernel = m.def_submodule("kernel", "The pixel kernels, for tests. Pictures are uint8 arrays (H, W, C).");
  kernel.def("levels", &levels, "Names of the SIMD levels this machine has, lowest first.");
  kernel.def("resize", &resize, "pixels"_a, "height"_a, "width"_a, "filter"_a, "order"_a, "level"_a,
             "arithmetic"_a = "pillow",
             "filter: bilinear, bicubic, nearest; order: horizontal, pillow13; arithmetic: pillow, torch_uint8, "
             "torch_uint8_no_antialias, torch_float (bilinear alone). Returns uint8 (height, width, C).");
  kernel.def("store", &store, "pixels"_a, "mean"_a, "std"_a, "raw"_a, "dtype"_a, "layout"_a, "mirror"_a, "level"_a,
             "The bytes of a batch row: uint8, to be viewed as `dtype`. No mean and std: x / 255.");
  kernel.def("adjust", &adjust, "pixels"_a, "what"_a, "factor"_a, "level"_a,
             "what: brightness, contrast, saturation, hue, grayscale (factor ignored).");
  kernel.def("turn", &turn, "pixels"_a, "how"_a, "level"_a, "how: horizontal, vertical, transpose.");
  kernel.def("pad", &pad, "pixels"_a, "left"_a, "top"_a, "right"_a, "bottom"_a, "mode"_a, "value"_a,
             "mode: constant, edge, reflect, symmetric; value: one byte per channel.");
}

}  // namespace drapps
