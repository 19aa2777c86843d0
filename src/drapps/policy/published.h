// Published designs of this system, to be compared with: what each sees and moves, and when it decides. They learn by
// PPO.
//
// - paper-a: use of CPU, accelerator and its memory, free memory, storage, network, queues, waits and what is to come.
//   It moves workers, or worker processes, and prefetch_depth by notches, chooses form and where augmentation runs, and
//   says a share of the decoding for the accelerator. Every interval.
// - paper-b: use of CPU and accelerator, free memory, storage. Decoding and augmentation run on the accelerator, or
//   not. Every iteration.
// - paper-c: sees the same, and shares the workers among the lanes of decoding, augmentation, tokenising and transfer.
//   At each batch.
//
// Each sees, beside what its paper lists, how long its knobs have stood (learned_inputs.h).
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "drapps/base/knob.h"
#include "drapps/policy/learned_weights.h"

namespace drapps {

struct PublishedDesign {
  std::string_view name;
  KnobClock pace;
};

/// A tick of the control thread or a batch, whichever is later, for those that decide at every batch.
inline constexpr KnobClock kBatchClock{.period_ns = 100'000'000, .count = 1};

/// Twice a second, or at each batch where these take longer: in four batches of slow Python code, five seconds pass.
inline constexpr KnobClock kLearnedPace{.period_ns = 500'000'000, .count = 1};

inline constexpr std::array kPublishedDesigns{PublishedDesign{"paper-a", kFastClock},
                                              PublishedDesign{"paper-b", kBatchClock},
                                              PublishedDesign{"paper-c", kBatchClock}};

/// What a network of a published design sees and moves; nothing where no design has this name.
std::optional<LearnedShape> published_shape(std::string_view name, std::size_t hidden = 64);

/// When a policy of this name decides: as its design says, or by kLearnedPace.
KnobClock learned_pace(std::string_view name) noexcept;

}  // namespace drapps
