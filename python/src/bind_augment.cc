// Binds single ops, for comparing them with Pillow and torchvision: in tests, and before lifting. Not public.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "drapps/augment/picture/ops.h"
#include "shared.h"

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace drapps {
namespace {

/// Visits an op's fields and takes those that the record has.
struct FromRecord {
  const nb::dict& record;
  std::size_t taken = 0;

  template <class T>
  void operator()(const char* name, T& member) {
    if (!record.contains(name)) return;
    ++taken;
    if constexpr (NamedEnum<T>) {
      const auto text = nb::cast<std::string>(record[name]);
      if (!parse(text, member)) throw std::invalid_argument(std::string(name) + " cannot be '" + text + "'");
    } else {
      member = nb::cast<T>(record[name]);
    }
  }
};

template <class T>
bool take(const std::string& tag, const nb::dict& record, Op& op) {
  if (tag != T::kTag) return false;
  T operation;
  FromRecord visitor{record};
  operation.fields(visitor);
  if (visitor.taken + 1 != record.size()) throw std::invalid_argument(tag + " does not have all of these fields");
  op = std::move(operation);
  return true;
}

template <std::size_t... I>
Op op_of(const nb::dict& record, std::index_sequence<I...> /*kinds*/) {
  const auto tag = nb::cast<std::string>(record["op"]);
  Op op;
  if (!(take<std::variant_alternative_t<I, Op>>(tag, record, op) || ...)) {
    throw std::invalid_argument("no op is called '" + tag + "'");
  }
  const Status status = check(op);
  if (!status.ok()) fail(status.error());
  return op;
}

NumpyBytes array_of(ConstImageView view) {
  const auto height = static_cast<std::size_t>(view.height);
  const auto width = static_cast<std::size_t>(view.width);
  const auto channels = static_cast<std::size_t>(view.channels);
  auto bytes = std::make_unique<std::uint8_t[]>(height * width * channels);
  std::uint8_t* next = bytes.get();
  for (std::int32_t y = 0; y < view.height; ++y) {
    for (std::int32_t x = 0; x < view.width; ++x) {
      for (std::int32_t c = 0; c < view.channels; ++c) *next++ = view.row(c, y)[x];
    }
  }
  std::uint8_t* data = bytes.release();
  const nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<std::uint8_t*>(p); });
  return NumpyBytes(data, {height, width, channels}, owner);
}

nb::tuple tuple_of(const Rect& rect) { return nb::make_tuple(rect.top, rect.left, rect.height, rect.width); }

/// The steps of a ColorJitter that are on, in their order: [(name, factor), …].
nb::list factors_of(const ColorJitter& op, Draws draws) {
  constexpr std::array<const char*, 4> kNames{"brightness", "contrast", "saturation", "hue"};
  const ColorJitter::Drawn drawn = op.draw(draws);
  nb::list factors;
  for (const ColorJitter::JitterStep step : drawn.order) {
    if (drawn.on[step]) factors.append(nb::make_tuple(kNames[step], drawn.factor[step]));
  }
  return factors;
}

nb::dict run_op(const nb::dict& record, const ConstPixels& pixels, std::uint64_t seed, std::uint32_t epoch,
                std::uint64_t position, std::uint16_t ordinal) {
  const Op op = op_of(record, std::make_index_sequence<std::variant_size_v<Op>>());
  const Extent whole{static_cast<std::int32_t>(pixels.shape(0)), static_cast<std::int32_t>(pixels.shape(1))};
  const auto channels = static_cast<std::int32_t>(pixels.shape(2));
  if (whole.height < 1 || whole.width < 1 || (channels != 1 && channels != 3)) {
    throw std::invalid_argument("pixels must be (height, width, 1 or 3) and not empty");
  }
  ImageBuffer buffer(MemoryLedger::unlimited());
  Result<ImageView> image = buffer.reshape(channels, whole.height, whole.width);
  if (!image.ok()) fail(image.error());
  const std::uint8_t* next = pixels.data();
  for (std::int32_t y = 0; y < whole.height; ++y) {
    for (std::int32_t x = 0; x < whole.width; ++x) {
      for (std::int32_t c = 0; c < channels; ++c) image->row(c, y)[x] = *next++;
    }
  }
  Picture picture{.image = *image, .extent = whole, .window = geometry::whole_rect(whole)};
  Scratch scratch(MemoryLedger::unlimited());
  const Draws draws({.seed = seed, .epoch = epoch, .position = position}, ordinal);
  OpContext ctx{draws, scratch};
  const Status status = run(op, picture, ctx);
  if (!status.ok()) fail(status.error());

  nb::dict result;
  result["pixels"] = array_of(picture.image);
  result["region"] = tuple_of(region(op, whole, draws));
  nb::list erasures;
  for (const Erasure& erasure : picture.erasures) erasures.append(tuple_of(erasure.rect));
  result["erasures"] = erasures;
  if (const auto* jitter = std::get_if<ColorJitter>(&op)) result["factors"] = factors_of(*jitter, draws);
  return result;
}

}  // namespace

void bind_augment(nb::module_& module) {
  nb::module_ augment = module.def_submodule("augment", "Single ops, for tests.");
  augment.def("run", &run_op, "record"_a, "pixels"_a, "seed"_a = 0, "epoch"_a = 0, "position"_a = 0, "ordinal"_a = 1,
              "Runs the op {'op': tag, field: value, ...} on uint8 pixels (H, W, 1 or 3) at a coordinate. Returns "
              "'pixels'; 'region', the (top, left, height, width) it read; 'erasures', a list of the same; and "
              "for color_jitter 'factors', (name, factor) in the order they were applied. Raises ValueError.");
}

}  // namespace drapps
