// The random states of samples: drapps._core.seed_torch_state.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <array>
#include <cstdint>
#include <cstring>

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

}  // namespace

void bind_seeding(nb::module_& module) {
  using nb::literals::operator""_a;
  module.def("seed_torch_state", &seed_torch_state, "out"_a, "seed"_a, "epoch"_a, "position"_a, "ordinal"_a,
             "initial_seed"_a,
             "Writes the state of torch's CPU generator at a coordinate; returns the 64 bits that it was made of.");
  module.attr("ORDINAL_SAMPLE") = kOrdinalSample;
  module.attr("ORDINAL_BATCH") = kOrdinalBatch;
}

}  // namespace drapps
