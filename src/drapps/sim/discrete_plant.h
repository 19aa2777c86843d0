// A plant event by event: each read, each sample and each step has a time of its own. What the fluid is checked with.
//
// 1. A batch may begin when fewer than prefetch_depth are under way or waiting, which is when an earlier one was taken.
//    Its reads begin in order, so many at once as io_depth allows; each takes its latency, has the device for its seek,
//    and shares the bandwidth with those beside it by following them.
// 2. A sample that was read is taken by the maker that is free first. Its time is drawn; it runs as fast as cores are
//    left by those that work at that moment, the consumer and others.
//    Remote machines have makers, too, from their start on: cores that nobody else uses. Their rows follow one another
//    on the link, and a maker waits until its own has passed.
// 3. Copies to the accelerator follow each other. What the accelerator does for samples it does beside steps where the
//    consumer waits, and else between them.
// 4. A batch is ready with its last sample. The consumer takes it when its step has ended, and the window moves on.
//
// Times are drawn from gamma distributions of the given mean and spread. Costs and contention are those of costs.h;
// nothing of rates.h is used but the type. Knobs act on what begins after they moved.
#pragma once

#include <cstdint>
#include <deque>
#include <random>
#include <vector>

#include "drapps/sim/simulated_plant.h"

namespace drapps::sim {

/// Time passes in advance(), which stops at the first step that ends behind the seconds that were asked for.
class DiscretePlant final : public SimulatedPlant {
 public:
  DiscretePlant(const Scenario& scenario, const Settings& settings);

  void advance(double seconds);
  void apply(const Settings& settings) override;

 private:
  double drawn(double mean, double cv);
  void refresh();
  double read(double from, const SampleCost& cost);
  double make(double from, const SampleCost& cost, double cv);
  double make_here(double from, const SampleCost& cost, double cv);
  double make_far(double from, const SampleCost& cost, double cv);
  void set_remote(double begin);
  double make_batch(double from);
  void step();

  Condition condition_;
  std::mt19937_64 random_;

  std::deque<double> slots_;    // when each place that no batch has yet became free
  std::deque<double> ready_;    // when each batch that is not taken was ready
  std::vector<double> reads_;   // when those in flight end: a heap, the first one first
  std::vector<double> makers_;  // when each is free
  std::vector<double> far_;     // when each core of a remote machine is free
  double device_ = 0;           // when the storage has time for the next read
  double request_ = 0;          // when the storage answers the next request
  double link_ = 0;             // when the link to remote machines has time for the next row
  double copier_ = 0;
  double busy_ = 0;  // cores, lately
  double last_ready_ = 0;
  double rows_far_ = 0;  // of the last batch, that remote machines made
};

}  // namespace drapps::sim
