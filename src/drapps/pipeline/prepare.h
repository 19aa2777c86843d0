// The segments of a plan, run on one sample: decode, augment, collate; and its batch ops.
#pragma once

#include <cstddef>
#include <memory>

#include "drapps/pipeline/plan.h"
#include "drapps/pipeline/task.h"

namespace drapps {

/// Stateless but for the plan and the source; called by many workers at once, each with its own task.
class Preparer {
 public:
  /// @param sampler outlives the preparer.
  /// @param seed    of the ops, beside the order's.
  /// @param indexes of the source's pictures, which decoding learns and uses; or null.
  Preparer(std::shared_ptr<const Plan> plan, std::shared_ptr<Source> source, const Sampler& sampler, std::uint64_t seed,
           std::shared_ptr<jpeg::IndexStore> indexes)
      : plan_(std::move(plan)),
        source_(std::move(source)),
        sampler_(sampler),
        seed_(seed),
        indexes_(std::move(indexes)) {}

  /// From bytes (task.bytes) to the part of the picture that the first op reads.
  Status decode(SampleTask& task) const;
  /// Every op of the description, in order.
  Status augment(SampleTask& task) const;
  /// Into its row of every column of its slot.
  Status collate(SampleTask& task) const;
  /// All three.
  Status prepare(SampleTask& task) const;
  /// The batch ops, on the first `rows` rows of a finished batch.
  void mix(std::byte* slot, std::uint64_t step, std::uint32_t rows) const;

  /// Which sample stands in for a bad one; the task then asks for that one.
  void replace(SampleTask& task, std::uint32_t attempt) const;

 private:
  /// Op i draws with ordinal i + 1, under the order's key (the rank folded in where the order is the user's) plus
  /// an odd multiple of the ops' seed: part of the documented format of a stream.
  Draws draws_of(std::uint64_t position, std::size_t op) const {
    Coordinate at = sampler_.coordinate(position);
    at.seed += seed_ * 0xD1342543DE82EF95u;
    return Draws(at, static_cast<std::uint16_t>(op + 1));
  }
  Result<ImageInfo> inspect(SampleTask& task, Part part, const DecodeOptions& options) const;
  Status decode_image(SampleTask& task) const;
  Status read_foreign(SampleTask& task, const Error& unread) const;
  Status decode_mask(SampleTask& task) const;
  Error named(Error error, const SampleTask& task, Part part) const;

  std::shared_ptr<const Plan> plan_;
  std::shared_ptr<Source> source_;
  const Sampler& sampler_;
  const std::uint64_t seed_;
  const std::shared_ptr<jpeg::IndexStore> indexes_;
};

}  // namespace drapps
