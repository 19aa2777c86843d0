// What the consumer of a loader does with its time: who hands out batches at the outermost says when one is asked for
// and when it is given.
//
//     asks ── wait ── gives ── the training step ── asks ── …  ends ── between passes ── asks
//
// Only the outermost iterator does so: where one pins batches ahead of their step, the consumer does not wait for what
// that one waits for.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "drapps/base/histogram.h"
#include "drapps/plant/plant.h"

namespace drapps {

/// The consumer's times in all passes of a loader, which may overlap. Every member may be called from any thread.
class ConsumerTimes {
 public:
  struct Counts {
    std::uint64_t passes = 0;      // that have taken their first step
    std::uint64_t samples = 0;     // that the batches of all counted steps were to have
    HistogramCounts step;          // ns from one asking to the next of its pass
    HistogramCounts stall;         // ns from asking to giving, without what helped; the sum counts waits that go on
    std::uint64_t helped_ns = 0;   // that the consumer worked at batches itself, between asking and giving
    std::uint64_t between_ns = 0;  // in which no pass was under way, from the first one's end on
  };
  Counts counts(std::uint64_t now_ns) const;
  /// The next observation: its quantiles are of the time since the one before.
  ConsumerObservation observe(std::uint64_t now_ns);
  /// The sum of stalls alone.
  std::uint64_t stall_ns(std::uint64_t now_ns) const;

 private:
  friend class ConsumerClock;

  std::uint64_t shown_stall_ns(std::uint64_t now_ns) const;

  mutable std::mutex mutex_;  // guards all below
  Counts counts_;
  std::uint64_t waiting_ = 0;       // clocks that were asked and have not given
  std::uint64_t asked_sum_ns_ = 0;  // of the times when these clocks were asked, modulo 2^64
  std::uint64_t under_way_ = 0;     // clocks that have been asked and have not ended
  std::uint64_t ended_ns_ = 0;      // when the last clock under way ended; 0: one is under way, or none ever was
  mutable std::uint64_t shown_ns_ = 0;
  HistogramCounts step_before_, stall_before_;  // at the observation before
};

/// What the consumer does in one pass. For one thread at a time. Times are of CLOCK_MONOTONIC.
class ConsumerClock {
 public:
  explicit ConsumerClock(std::shared_ptr<ConsumerTimes> times) noexcept : times_(std::move(times)) {}
  /// Ends the pass, in the process that made the clock.
  ~ConsumerClock();
  ConsumerClock(const ConsumerClock&) = delete;
  ConsumerClock& operator=(const ConsumerClock&) = delete;

  /// Batches have so many samples from here on; 0: that is not known.
  void set_batch(std::uint64_t samples) noexcept { batch_ = samples; }
  /// A batch is asked for; once more before it was given says nothing new.
  void asks(std::uint64_t now_ns);
  /// The batch is given, or its error. Does nothing without a call of asks() before.
  /// @param helped_ns  how long since asks() the consumer worked at the batch itself.
  void gives(std::uint64_t now_ns, std::uint64_t helped_ns = 0);
  /// The pass is over; it may begin again.
  void ends(std::uint64_t now_ns);

  std::uint64_t stall_ns() const noexcept { return stall_ns_; }

 private:
  const std::shared_ptr<ConsumerTimes> times_;
  bool waits_ = false;
  bool stepped_ = false;        // its first step is counted
  std::uint64_t asked_ns_ = 0;  // last; 0: never in this pass
  std::uint64_t stall_ns_ = 0;  // of the pass, so far
  std::uint64_t batch_ = 0;
};

}  // namespace drapps
