// The mean time of a training step over a stretch of a run, with an honest error bar.
//
// 1. Observations cut the run into blocks of a decision epoch each; a block's mean step is (sum of step times) /
// (steps).
// 2. A window is complete after three seconds, eight steps and four blocks: shorter ones are noise (windows of 100 ms
//    vary by 2 % on a quiet machine, by 14 % beside one burning process).
// 3. The standard error comes from the spread of the block means. While it is above 1 %, the window grows, to at most
//    nine seconds. Neighbouring blocks are correlated, so the true error is larger; who compares windows leaves room.
// 4. Counters that ran backwards are a new plant (the next epoch of the same loader): the window goes on there with a
//    new block, so that windows are not bound to the length of an epoch.
// 5. A step of over a second that is also eight times the usual (a checkpoint, a validation pass) says nothing about
// the
//    loader: its block is left out. Three such blocks in a row are no pause but the new normal, and count.
#pragma once

#include <cstdint>

#include "drapps/plant/plant.h"

namespace drapps {

struct StepMeasure {
  double step_ns = 0;  // mean time between the consumer's calls
  double error = 0;    // standard error of that mean, relative to it
  double stall = 0;    // share of the step time that was waited inside next(), 0 to 1
  double stretch = 0;  // wall / CPU time of the CPU lanes' work: > 1 where others use the cores; 0 where unknown
};

/// Plain and trivially copyable: it lives in a policy's state. All zero bytes is an empty window that begins with the
/// first observation.
class StepWindow {
 public:
  void restart() noexcept { *this = {}; }
  /// Takes the next observation in.
  void add(const Observation& observation) noexcept;
  /// Whether it has the length, the steps and the blocks of a window, and is complete but for its error.
  bool long_enough() const noexcept;
  bool complete() const noexcept;
  std::uint32_t blocks() const noexcept { return blocks_; }
  StepMeasure measure() const noexcept;

 private:
  struct Mark {
    std::uint64_t time_ns, steps, step_ns, stall_ns, wall_ns, cpu_ns;
  };
  static Mark mark_of(const Observation& observation) noexcept;
  bool paused(const Observation& observation) noexcept;

  bool begun_ = false;
  Mark last_{};
  Mark sum_{};  // over the blocks taken in; time_ns is their length
  std::uint64_t pause_bucket_ = 0;
  std::uint64_t long_steps_ = 0;  // steps so far from that bucket on
  std::uint32_t pauses_ = 0;      // left out in a row
  std::uint32_t blocks_ = 0;
  double mean_ = 0;  // of the block means, and the sum of their squared deviations (Welford)
  double squares_ = 0;
};

}  // namespace drapps
