// Which sample of a pass begins next, and who reads it: workers where records come at once, else a reader, ahead of
// need.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "drapps/source/sampler.h"

namespace drapps {

/// No member is safe to call from two threads at once: the runner's mutex guards it.
class ReadAhead {
 public:
  /// A sample that begins.
  struct NextSample {
    Sampler::Row sample;
    std::uint64_t step = 0;    // of the epoch
    std::uint32_t row = 0;     // of its batch
    std::uint64_t number = 0;  // how many of this pass have begun before it
  };

  /// @param sampler  outlives this.
  explicit ReadAhead(const Sampler& sampler) noexcept : sampler_(sampler) {}

  /// The step whose batch the next sample is for; the sampler's steps() when all have begun.
  std::uint64_t step() const noexcept { return step_; }
  bool ended() const noexcept { return step_ == sampler_.steps(); }
  /// Requires that not all have begun.
  NextSample next();

  /// Whether records come without waiting for storage: then workers read them, and nothing is read ahead.
  bool at_once() const noexcept { return at_once_; }
  /// Whether a worker is to try without waiting, although records do not come so: one sample in kProbeEvery is tried,
  /// because a cache may have warmed up. Of the sample that began last.
  bool probes() const noexcept { return begun_ % kProbeEvery == 0; }
  /// A worker has tried to read a record without waiting. Two tries in a row change the mind.
  void tried(bool at_once) noexcept;

  /// The reader gets one more.
  /// @return how many it had.
  std::size_t submit() noexcept { return reading_++; }
  /// The reader is done with one.
  void read() noexcept { --reading_; }
  /// Requests that the reader has.
  std::size_t reading() const noexcept { return reading_; }

  static constexpr std::uint64_t kProbeEvery = 64;
  static constexpr std::uint32_t kStreak = 2;

 private:
  const Sampler& sampler_;
  std::array<Sampler::Row, 16> rows_;  // of the step, made together, which is cheaper
  std::uint64_t step_ = 0;
  std::uint32_t row_ = 0;
  std::uint64_t begun_ = 0;
  std::size_t reading_ = 0;
  bool at_once_ = true;
  std::uint32_t streak_ = 0;  // tries in a row that say the opposite
};

}  // namespace drapps
