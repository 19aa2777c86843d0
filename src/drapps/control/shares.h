// What the loaders of a process leave each other: cores, by need, and the turn to try something.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>

#include "drapps/plant/plant.h"
#include "drapps/plant/policy.h"

namespace drapps {

/// Members are told apart by any address of theirs. All members may be called from any thread; times are those of
/// observations.
class Shares {
 public:
  /// Of this process (process_local.h).
  static Shares& of_process();

  /// Looks at what a loader has used and waited for, once a second. One without a pass under way needs nothing.
  void observe(const void* who, const PlantCounters& seen);
  /// The cores of `budget` that are for `who`: all that the others do not need, and never less than an even share.
  /// Max-min fairness (D. Bertsekas, R. Gallager, "Data Networks", 2nd ed. 1992, section 6.5.2); a loader whose
  /// consumer waits needs all it can get. A change below a tenth of the budget is none, so that policies can settle.
  double cores(const void* who, double budget);

  /// Whether `who` may try something.
  Turn turn(const void* who, std::uint64_t now_ns) const;
  /// What the policy of `who` does about its turn.
  void note(const void* who, Trying trying, std::uint64_t now_ns);

  void leave(const void* who) noexcept;

 private:
  struct MemberLoader {
    std::uint64_t seen_ns = 0;  // the last look; 0: there was none
    std::uint64_t cpu_ns = 0, stall_ns = 0;
    double need = 0;   // cores
    double cores = 0;  // given last
    double budget = 0;
    Trying trying = Trying::kNot;
    std::uint64_t since_ns = 0;  // that it tries, or waits for its turn
    std::uint64_t noted_ns = 0;
  };

  mutable std::mutex mutex_;  // guards all below
  std::map<const void*, MemberLoader> members_;
  const void* next_ = nullptr;       // who has waited longest for its turn
  std::uint64_t next_since_ns_ = 0;  // that it is the next one
};

}  // namespace drapps
