// Which sample stands at which row of which batch of which rank.
//
//   auto sampler = Sampler::make({.size = source.size(), .shuffle = true, .batch = 64}, epoch);
//   for (std::uint32_t i = 0; i < sampler->batch(step).rows; ++i) read(sampler->row(step, i).index);
//   const std::uint64_t position = sampler->position_after(step);
//
// 1. An epoch has one global order: positions 0 … N-1, shuffled or not, the same at any world size.
// 2. Step s of a sampler that starts at position P0 covers the global batch [P0 + s·B·W, P0 + (s+1)·B·W);
//    rank r has rows [r·B, (r+1)·B) of it.
// 3. The last global batch, where short, is split, padded or dropped by Remainder. All ranks take equal steps.
// 4. A checkpoint stores position_after(step). A sampler made at that position, at any world size, delivers exactly
//    the rest.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "drapps/base/philox.h"
#include "drapps/base/result.h"
#include "drapps/source/permutation.h"

namespace drapps {

/// What becomes of a last global batch with fewer rows than batch · world.
enum class Remainder : std::uint8_t {
  kEven,  // split over the ranks, sizes differing by at most one; an error where a rank would get none
  kPad,   // filled with the samples from the start of the order, flagged
  kDrop,  // left out; Sampler::dropped() says which
};

struct SamplerSpec {
  std::uint64_t size = 0;  // N: samples in the order
  bool shuffle = false;
  std::uint64_t seed = 0;
  std::int32_t rank = 0;
  std::int32_t world = 1;
  std::uint32_t batch = 1;  // B: rows per rank and step
  Remainder remainder = Remainder::kEven;
  bool operator==(const SamplerSpec&) const = default;
};

/// Indices into the source, in some order; shared, since a user's sequence may be large.
using IndexList = std::shared_ptr<const std::vector<std::uint64_t>>;

/// Immutable; may be read from any thread. Some 5 KiB.
class Sampler {
 public:
  struct BatchRows {
    std::uint64_t first_position = 0;  // of this rank's row 0; its rows follow one another
    std::uint32_t rows = 0;
    std::uint32_t padded = 0;  // how many of them, at the end, are padding
  };
  struct Row {
    std::uint64_t position = 0;  // in the global order: the coordinate of randomness. N + k for padding
    std::uint64_t index = 0;     // in the source
    bool padded = false;         // a repeat, not counted as delivered
  };
  struct Dropped {
    std::uint64_t first_position = 0;
    std::uint64_t count = 0;  // over all ranks
  };

  /// The order of one epoch from `start_position` <= size on. kInvalidArgument for counts that make no sense, and
  /// where kEven would leave a rank without a row.
  /// @param subset  where given, of `spec.size` entries: the order is taken over it, and a row's index is the entry.
  static Result<Sampler> make(const SamplerSpec& spec, std::uint32_t epoch, std::uint64_t start_position = 0,
                              IndexList subset = nullptr);

  /// The user's own sequence of this rank, in its order. The position is the rank's own count: `spec.world` splits
  /// nothing, and `spec.rank` is folded into the seed. `spec.size` and `spec.shuffle` are not read. kPad is allowed.
  static Result<Sampler> make_explicit(const SamplerSpec& spec, IndexList order, std::uint32_t epoch,
                                       std::uint64_t start_position = 0);

  /// Steps that every rank takes, from the start position to the end of the epoch. 0 where nothing is left.
  std::uint64_t steps() const noexcept { return steps_; }
  std::uint64_t start_position() const noexcept { return start_; }
  std::uint32_t epoch() const noexcept { return epoch_; }
  /// Rows of this rank from here to the end, padding included.
  std::uint64_t rows() const noexcept;

  /// This rank's share of a step. Requires step < steps().
  BatchRows batch(std::uint64_t step) const noexcept;
  /// Requires row < batch(step).rows. Costs one permutation, some hundred ns where shuffled.
  Row row(std::uint64_t step, std::uint32_t row) const noexcept;
  /// Rows `first`, `first` + 1, … of a step, as row() gives them; cheaper for many.
  void rows(std::uint64_t step, std::uint32_t first, std::span<Row> out) const noexcept;
  /// The indices of rows `first`, `first` + 1, … of a step, as row() gives them; cheaper for many.
  void indices(std::uint64_t step, std::uint32_t first, std::span<std::uint64_t> out) const noexcept;
  /// Global position consumed once all ranks have done `step`; what a checkpoint stores. At most size.
  std::uint64_t position_after(std::uint64_t step) const noexcept;
  Dropped dropped() const noexcept { return dropped_; }

  /// The sample that stands in for a bad one at `position`; `attempt` counts from 0. Uniform over the order, the same
  /// at any world size. Drawn with kOrdinalReplace: words 2·attempt (high) and 2·attempt + 1 (low).
  std::uint64_t replacement(std::uint64_t position, std::uint32_t attempt) const noexcept;

  /// The key of everything random about the sample at `position`.
  Coordinate coordinate(std::uint64_t position) const noexcept { return {seed_, epoch_, position}; }

 private:
  Sampler(const SamplerSpec& spec, std::uint32_t epoch, std::uint64_t start, std::uint64_t seed,
          IndexList list) noexcept;
  static Result<Sampler> check_and_make(const SamplerSpec& spec, std::uint32_t epoch, std::uint64_t start,
                                        std::uint64_t seed, IndexList list);
  std::uint64_t index_at(std::uint64_t order_position) const noexcept;

  SamplerSpec spec_;
  std::uint32_t epoch_;
  std::uint64_t start_;
  std::uint64_t seed_;  // spec_.seed, with the rank folded in for an explicit order
  std::uint64_t steps_ = 0;
  std::uint64_t full_steps_ = 0;  // steps whose global batch is full
  std::uint64_t tail_ = 0;        // samples left for the step after the full ones, where it is taken
  Dropped dropped_;
  IndexList list_;
  Permutation order_;
};

}  // namespace drapps
