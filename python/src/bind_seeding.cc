// The random states of samples, and what torch's CPU generator draws from one: drapps._core.seed_torch_state,
// torch_uniform, torch_crop_box.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <tuple>

#include "drapps/augment/picture/geometry.h"
#include "drapps/base/mersenne.h"
#include "drapps/base/philox.h"
#include "drapps/base/torch_numbers.h"

namespace nb = nanobind;

namespace drapps {
namespace {

using StateBytes = nb::ndarray<std::uint8_t, nb::shape<sizeof(TorchState)>, nb::c_contig, nb::device::cpu>;

std::uint64_t seed_torch_state(const StateBytes& out, std::uint64_t seed, std::uint32_t epoch, std::uint64_t position,
                               std::uint16_t ordinal, std::uint64_t initial_seed) {
  Draws draws({.seed = seed, .epoch = epoch, .position = position}, ordinal);
  const std::uint64_t low = draws.u32();
  const std::uint64_t key = low | static_cast<std::uint64_t>(draws.u32()) << 32;
  TorchState state{.initial_seed = initial_seed,
                   .left = 1,
                   .seeded = 1,
                   .next = 0,
                   .words = {},
                   .normal = {},
                   .normal_is_valid = 0,
                   .next_float_normal = 0};
  const auto words = mersenne_state(key);
  for (std::size_t i = 0; i < kMersenneWords; ++i) state.words[i] = words[i];
  std::memcpy(out.data(), &state, sizeof(state));
  return key;
}

/// The state that lies in these bytes.
TorchState& state_in(const StateBytes& bytes) {
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(TorchState) != 0) {
    throw std::invalid_argument("the state is not aligned to 8 bytes");
  }
  auto& state = *reinterpret_cast<TorchState*>(bytes.data());
  if (!state.usable()) throw std::invalid_argument("the state is damaged");
  return state;
}

float torch_uniform(const StateBytes& state, float low, float high, bool fused) {
  return TorchNumbers(state_in(state), fused).uniform(low, high);
}

using CropBox = std::tuple<std::int32_t, std::int32_t, std::int32_t, std::int32_t>;  // top, left, height, width

std::optional<CropBox> torch_crop_box(const StateBytes& state, std::int64_t height, std::int64_t width,
                                      const geometry::Range& scale, const geometry::Range& log_ratio,
                                      const geometry::Range& ratio, bool fused) {
  constexpr std::int64_t kMost = 1 << 20;
  if (height < 1 || width < 1 || height > kMost || width > kMost) return std::nullopt;
  TorchNumbers numbers(state_in(state), fused);
  const Extent whole{static_cast<std::int32_t>(height), static_cast<std::int32_t>(width)};
  const std::optional<Rect> rect = geometry::torch_resized_rect(whole, scale, log_ratio, ratio, numbers);
  if (!rect) return std::nullopt;
  return CropBox{rect->top, rect->left, rect->height, rect->width};
}

}  // namespace

void bind_seeding(nb::module_& module) {
  using nb::literals::operator""_a;
  module.def("seed_torch_state", &seed_torch_state, "out"_a, "seed"_a, "epoch"_a, "position"_a, "ordinal"_a,
             "initial_seed"_a,
             "Writes the state of torch's CPU generator at a coordinate; returns the 64 bits that it was made of.");
  module.def("torch_uniform", &torch_uniform, "state"_a, "low"_a, "high"_a, "fused"_a,
             "What torch.empty(1).uniform_(low, high) draws from a state, which goes on. `fused`: its product and its "
             "sum are rounded once, as torch is compiled on CPUs that have such an instruction.");
  module.def("torch_crop_box", &torch_crop_box, "state"_a, "height"_a, "width"_a, "scale"_a, "log_ratio"_a, "ratio"_a,
             "fused"_a,
             "Top, left, height and width of the box that torchvision's RandomResizedCrop draws from a state, which "
             "goes on. None, of a state that is of no use then, where only torch can tell.");
  module.attr("ORDINAL_SAMPLE") = kOrdinalSample;
  module.attr("ORDINAL_BATCH") = kOrdinalBatch;
}

}  // namespace drapps
