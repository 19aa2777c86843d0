// One pass of a loader, as its user takes it: the runner, its consumer's clock, and its place in the control plane.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "drapps/control/client.h"
#include "drapps/control/consumer.h"
#include "drapps/control/live_plant.h"
#include "drapps/deliver/spare_arenas.h"
#include "drapps/pipeline/engine.h"
#include "drapps/pipeline/runner.h"

namespace drapps {

/// Where the time up to the first batch of a pass went, in ns of the monotonic clock; 0 for what has not happened.
struct FirstBatch {
  std::uint64_t began = 0;
  std::uint64_t read = 0;                // the first record; never for rows of arrays
  std::uint64_t sample = 0;              // the first sample
  std::atomic<std::uint64_t> given = 0;  // written last, so that who sees it sees the others

  /// {"first_read_s", "first_sample_s", "rest_s"}, as far as each took time; empty before it was given.
  nlohmann::json to_json() const;
};

/// One pass over one epoch. Destroying it waits for the samples in hand and drops the rest; batches that were
/// yielded stay.
class Iterator {
 public:
  /// What the loader gives it, and shares with it.
  struct Parts {
    std::shared_ptr<Engine::Limit> limit;
    std::unique_ptr<Runner> runner;
    std::shared_ptr<LivePlant> plant;
    std::shared_ptr<Client> client;
    std::weak_ptr<ArenaPlace> arena;
    std::shared_ptr<FirstBatch> first;
  };
  explicit Iterator(Parts parts);
  /// Under control from here on, with the knobs within `limits`.
  void begin(std::uint32_t epoch, const Limits& limits);
  ~Iterator();
  Iterator(const Iterator&) = delete;
  Iterator& operator=(const Iterator&) = delete;

  /// As Runner::next; in another process than its maker's, an Error that says so. Its caller counts as the consumer,
  /// unless consumed_outside() was called.
  std::optional<Runner::Next> next(std::chrono::milliseconds patience);
  /// Who calls next() takes batches ahead of the consumer, and says itself when that one asks for a batch and is given
  /// it: outside_asks(), outside_gives().
  void consumed_outside() noexcept { outside_ = true; }
  void outside_asks();
  void outside_gives();
  /// Ends the pass early: next() is Finished from then on.
  void close();

  /// Global position that the batches taken so far have consumed.
  std::uint64_t position() const noexcept { return position_; }
  /// Steps still to be taken.
  std::uint64_t left() const noexcept { return left_; }
  /// See Runner::cursors(); of a closed pass those at position().
  std::vector<StreamCursor> cursors(std::uint64_t position) const;
  /// Bad samples so far.
  std::vector<Error> bad_samples() const;
  /// Pixels of the pictures in the batches taken so far of which Pillow warns, those that were not told of yet.
  std::vector<std::uint64_t> take_large_pictures();
  /// The runner, for what it counted; null once closed.
  const Runner* runner() const noexcept { return runner_.get(); }
  /// ns that the consumer has waited for batches.
  std::uint64_t stall_ns() const noexcept { return consumer_ == nullptr ? 0 : consumer_->stall_ns(); }

 private:
  const pid_t maker_;
  std::shared_ptr<Engine::Limit> limit_;  // budgets hold as long as something runs under them
  std::unique_ptr<Runner> runner_;        // null once closed
  std::shared_ptr<LivePlant> plant_;
  std::shared_ptr<Client> client_;
  std::weak_ptr<ArenaPlace> arena_;  // the loader's, while that lives
  std::shared_ptr<FirstBatch> first_;
  std::unique_ptr<ConsumerClock> consumer_;
  bool outside_ = false;
  std::uint64_t helped_ns_ = 0;  // by the consumer, since it asked for the batch that it waits for
  std::uint64_t position_;
  std::uint64_t left_;
  std::vector<Error> bad_;  // of a closed pass, as cursors_ are
  std::vector<StreamCursor> cursors_;
};

}  // namespace drapps
