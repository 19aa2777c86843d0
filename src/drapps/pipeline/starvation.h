// Samples that found no memory, and what stands still meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "drapps/pipeline/task.h"

namespace drapps {

/// A starved task has nothing, and waits until another one has ended. Where it is the only one under way it has all
/// memory to itself, and nothing else begins.
/// No member is safe to call from two threads at once: the runner's mutex guards it.
class Starvation {
 public:
  /// Makes room for so many tasks; no other member allocates.
  void reserve(std::size_t tasks) { starved_.reserve(tasks); }

  void set_aside(SampleTask& task) { starved_.push_back(&task); }
  /// Gives every starved task to `enter`, and has none then.
  /// @return whether there were any.
  template <class Enter>
  bool resume(Enter&& enter) {
    const bool any = !starved_.empty();
    for (SampleTask* task : starved_) enter(*task);
    starved_.clear();
    return any;
  }

  /// One task has all memory to itself, from begin_alone() to end_alone().
  void begin_alone() noexcept { alone_ = true; }
  void end_alone() noexcept { alone_ = false; }
  bool alone() const noexcept { return alone_; }

  /// Whether a batch that may begin found no memory for its slot, when a sample was last asked for.
  void set_no_slot(bool none) noexcept { no_slot_ = none; }

  /// Whether anything waits for memory.
  bool any() const noexcept { return no_slot_ || alone_ || !starved_.empty(); }

  /// Whether a task that found no memory even alone goes on waiting.
  /// @param front    its batch is the next to land; batches before it would still release memory.
  /// @param awaited  the consumer waits for that batch.
  /// @param shared   other loaders work within the same budget, and may release memory.
  static bool waits_on(SampleTask& task, bool front, bool awaited, bool shared, std::uint64_t now_ns) noexcept;

 private:
  std::vector<SampleTask*> starved_;
  bool alone_ = false;
  bool no_slot_ = false;
};

}  // namespace drapps
