// The mean time of a training step over a stretch of a run, with an honest error bar.
//
// 1. Observations cut the run into blocks of a decision epoch each, or of several where that is less than a quarter of
//    a second of steps; a block's mean is (sum of step times) / (their samples). All time here is time of steps: what
//    lies between two passes belongs to none.
// 2. A window is complete after three seconds, eight steps and four blocks: shorter ones are noise (windows of 100 ms
//    vary by 2 % on a quiet machine, by 14 % beside one burning process).
// 3. The standard error comes from the spread of the block means. While it is above 1 %, the window grows, to at most
//    nine seconds. Neighbouring blocks are correlated, so the true error is larger; who compares windows leaves room.
// 4. Counters that ran backwards are a new plant (another run, a child of fork()): the window goes on with a new block.
// 5. A step of over a second that is also eight times the usual (a checkpoint, a validation pass) says nothing about
//    the loader, and the first step of a pass is starting up: their blocks are left out. Three such blocks in a row are
//    no exception but normal (long steps, short passes), and count.
#pragma once

#include <cstdint>

#include "drapps/plant/plant.h"

namespace drapps {

struct StepMeasure {
  double step_ns = 0;    // mean time between the consumer's calls
  double sample_ns = 0;  // mean time per sample of the batches, so that another batch is no other speed; per step where
                         // nobody counts samples
  double error = 0;      // standard error of sample_ns, relative to it
  double stall = 0;      // share of the step time that was waited inside next(), 0 to 1
  double stretch = 0;    // wall / CPU time of the CPU lanes' work: > 1 where others use the cores; 0 where unknown
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
  struct WindowMark {
    std::uint64_t steps, samples, step_ns, stall_ns, wall_ns, cpu_ns;
  };
  static double sample_ns(const WindowMark& block) noexcept;
  static WindowMark mark_of(const Observation& observation) noexcept;
  bool exceptional(const Observation& observation) noexcept;

  bool begun_ = false;
  WindowMark last_{};
  WindowMark sum_{};              // over the blocks taken in
  std::uint64_t passes_ = 0;      // as observed
  std::uint64_t usual_ns_ = 0;    // median step, when one was last no exception; 0: none was seen
  std::uint64_t longest_ns_ = 0;  // step since the last block
  std::uint32_t exceptions_ = 0;  // in a row
  std::uint32_t blocks_ = 0;
  double mean_ = 0;  // of the block means, and the sum of their squared deviations (Welford)
  double squares_ = 0;
};

}  // namespace drapps
