// The random states of samples, and what torch's CPU generator draws from one: drapps._core.seed_torch_state,
// torch_uniform, torch_crop_box.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "drapps/base/mersenne.h"
#include "drapps/base/philox.h"

namespace nb = nanobind;

namespace drapps {
namespace {

// torch's CPU generator state, as torch.get_rng_state() gives it.
struct TorchState {
  std::uint64_t initial_seed;
  std::int32_t left;
  std::int32_t seeded;
  std::uint64_t next;
  std::array<std::uint64_t, kMersenneWords> words;
  std::array<double, 3> normal;
  std::int64_t normal_is_valid;
  std::uint64_t next_float_normal;
};
static_assert(sizeof(TorchState) == 5056);

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

/// The next 32 bits of a state, which goes on.
std::uint32_t next_word(const StateBytes& bytes) {
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(TorchState) != 0) {
    throw std::invalid_argument("the state is not aligned to 8 bytes");
  }
  auto& state = *reinterpret_cast<TorchState*>(bytes.data());
  if (--state.left == 0) {
    mersenne_twist(state.words);
    state.left = kMersenneWords;
    state.next = 0;
  }
  if (state.next >= kMersenneWords) throw std::invalid_argument("the state is damaged");
  return mersenne_tempered(static_cast<std::uint32_t>(state.words[state.next++]));
}

// The arithmetic is torch's (aten/src/ATen/core/TransformationHelper.h).

float torch_uniform(const StateBytes& state, float low, float high, bool fused) {
  const float share = static_cast<float>(next_word(state) & 0xFFFFFFu) * (1.0f / (1u << 24));
  return fused ? std::fma(share, high - low, low) : share * (high - low) + low;
}

/// Of `low` up to, and without, a `high` that lies at most 2^24 above.
std::int64_t torch_integer(const StateBytes& state, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(next_word(state) % static_cast<std::uint32_t>(high - low));
}

using Pair = std::pair<double, double>;
using CropBox = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>;  // top, left, height, width

/// torchvision's RandomResizedCrop.get_params. None where it cannot be told which box torch makes.
std::optional<CropBox> torch_crop_box(const StateBytes& state, std::int64_t height, std::int64_t width, Pair scale,
                                      Pair log_ratio, Pair ratio, bool fused) {
  constexpr std::int64_t kMost = 1 << 20;
  constexpr int kTries = 10;
  if (height < 1 || width < 1 || height > kMost || width > kMost) return std::nullopt;
  const auto uniform = [&](Pair range) {
    return torch_uniform(state, static_cast<float>(range.first), static_cast<float>(range.second), fused);
  };
  const auto area = static_cast<double>(height * width);
  for (int i = 0; i < kTries; ++i) {
    const double target = area * static_cast<double>(uniform(scale));
    // torch's exponential is right to one unit of the last place: both ends of two such have to make one box.
    const auto aspect = static_cast<float>(std::exp(static_cast<double>(uniform(log_ratio))));
    const auto side = [&](float far, bool across) {
      float ratio_there = aspect;
      for (int k = 0; k < 2; ++k) ratio_there = std::nextafter(ratio_there, far);
      const auto exact = static_cast<double>(ratio_there);
      return std::nearbyint(std::sqrt(across ? target * exact : target / exact));
    };
    const double w = side(0.0f, true), h = side(0.0f, false);
    if (!(w == side(HUGE_VALF, true) && h == side(HUGE_VALF, false))) return std::nullopt;
    if (w > 0 && w <= static_cast<double>(width) && h > 0 && h <= static_cast<double>(height)) {
      const auto rows = static_cast<std::int64_t>(h), columns = static_cast<std::int64_t>(w);
      const std::int64_t top = torch_integer(state, 0, height - rows + 1);
      return CropBox{top, torch_integer(state, 0, width - columns + 1), rows, columns};
    }
  }
  const double least = std::min(ratio.first, ratio.second), most = std::max(ratio.first, ratio.second);
  const double in_ratio = static_cast<double>(width) / static_cast<double>(height);
  std::int64_t rows = height, columns = width;
  if (in_ratio < least) rows = static_cast<std::int64_t>(std::nearbyint(static_cast<double>(width) / least));
  if (in_ratio > most) columns = static_cast<std::int64_t>(std::nearbyint(static_cast<double>(height) * most));
  return CropBox{(height - rows) / 2, (width - columns) / 2, rows, columns};
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
