// How fast each part of a plant goes when it waits for no other: the fluid's law of motion.
//
// 1. Reads. While n are in flight, each takes its latency and its bytes at the pace of one connection; all together get
//    the bandwidth, the seeks and the requests that the storage gives. What is in memory costs its copy; reads of both
//    kinds follow each other, as in DS-Analyzer's formula.
// 2. Preparation. So many makers, each with its CPU time, slower where they share cores, and its sleep; no more than
//    the CPU budget gives. Remote machines add theirs.
// 3. The window. Batches under way and waiting are prefetch_depth: so many samples in the time that a batch takes from
//    its first read to its last row, and until another has its place.
// 4. The consumer. A step, slower where the host's cores are busy, and the accelerator's time for what samples have
//    done there.
// 5. Random times meet in few places: with K of them between two stages, the rate is that of a queue M/M/1/K, with K
//    scaled by the variances of both. Where both are steady it is the slower one's.
//
// Sources: DS-Analyzer (Mohan et al., VLDB 2021) for 1; egalitarian processor sharing for 2; tf.data's autotuner
// (Murray et al., VLDB 2021) for the queue of 5, whose scaling is the usual two-moment one of open queues.
#pragma once

#include "drapps/sim/costs.h"

namespace drapps::sim {

struct Rates {
  SampleCost cost;
  // Samples/s.
  double fetch = 0;
  double prepare = 0;  // here and on remote machines
  double remote = 0;   // part of `prepare` on remote machines
  double transfer = 0;
  double produce = 0;  // the least of these, and what the window lets through
  double consume = 0;  // where there is always a batch
  double meet = 0;     // where it is as often the consumer as the producer who waits
  // Of the moment.
  double read = 0;       // s that a read takes
  double alone = 0;      // s that a read takes with no other beside it
  double in_flight = 0;  // reads
  double makers = 1;     // that have something to do at once
  double speed = 1;      // of a thread
  double step = 0;       // s
  double refused = 0;    // requests a second beyond what the storage answers
};

/// Pure.
Rates rates_of(const World& world, const Settings& settings, const Condition& condition) noexcept;

/// Throughput of a queue M/M/1/K with K places, the one in service included, and of any K > 0 between whole numbers.
double queue_rate(double arrivals, double services, double places) noexcept;

}  // namespace drapps::sim
