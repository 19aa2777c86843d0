#include "drapps/base/knob.h"

#include <algorithm>

namespace drapps {
namespace {

constexpr std::array<std::int32_t, 19> kWorkerGrid{1,  2,  3,  4,   6,   8,   12,  16,  24, 32,
                                                   48, 64, 96, 128, 192, 256, 384, 512, 768};
constexpr std::array<std::int32_t, 9> kIoGrid{1, 2, 4, 8, 16, 32, 64, 128, 256};
constexpr std::array<std::int32_t, 9> kPrefetchGrid{1, 2, 3, 4, 6, 8, 12, 16, 32};
constexpr std::array<std::int32_t, 2> kFusedGrid{0, 1};
constexpr std::array<std::int32_t, 17> kSixteenthsGrid{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
constexpr std::array<std::int32_t, 7> kFormGrid{0, 1, 2, 3, 4, 5, 6};
constexpr std::array<std::int32_t, 13> kRemoteGrid{0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64};

// Who moves processes waits for their effect itself, however long it is.
constexpr KnobClock kProcessClock{.period_ns = 250'000'000, .count = 1, .counted = Counted::kSamples};

}  // namespace

const std::array<Knob, kKnobs>& knob_table() noexcept {
  static const std::array<Knob, kKnobs> table{{
      {KnobId::kWorkers, "workers", "threads", kWorkerGrid, kFastClock, KnobStep::kNotch, 2},
      {KnobId::kIoDepth, "io_depth", "reads in flight", kIoGrid, kFastClock, KnobStep::kStart, 2},
      {KnobId::kPrefetchDepth, "prefetch_depth", "batches", kPrefetchGrid, kFastClock, KnobStep::kStart, 2},
      {KnobId::kFused, "fused", "0 = split lanes, 1 = one fused lane", kFusedGrid, kSlowClock, KnobStep::kNotch, 2},
      {KnobId::kProcesses, "processes", "worker processes", kWorkerGrid, kProcessClock, KnobStep::kAny, 0},
      {KnobId::kDecodeOnGpu, "decode_on_gpu", "sixteenths", kSixteenthsGrid, kFastClock, KnobStep::kNotch, 2},
      {KnobId::kAugmentOnGpu, "augment_on_gpu", "sixteenths", kSixteenthsGrid, kFastClock, KnobStep::kNotch, 2},
      {KnobId::kForm, "form", "place in the list of forms", kFormGrid, kSlowClock, KnobStep::kAny, 2, false},
      {KnobId::kRemoteWorkers, "remote_workers", "machines", kRemoteGrid, kSlowClock, KnobStep::kNotch, 2},
  }};
  return table;
}

std::size_t notch_of(const Knob& knob, std::int32_t value) noexcept {
  const auto above = std::upper_bound(knob.grid.begin(), knob.grid.end(), value);
  return above == knob.grid.begin() ? 0 : static_cast<std::size_t>(above - knob.grid.begin()) - 1;
}

}  // namespace drapps
