// The batches of one pass that are under way: opened as there is room, filled by whoever, taken in order.
//
// A runner says which rows a batch has and fills them in its place, in any order and from any thread; that they stand
// is a call of its own, as late as it likes. The last row completes the batch. Every taker gets every batch behind the
// place where it joined, in order, at its own pace. The slowest of them bounds how far ahead batches are opened; a
// place is released when the last one has taken its batch.
//
// What a batch lies in is the payload's affair: memory of this process (batch_window.h), or what another one has sent.
// A payload is a type with
//
//   Place    what a batch is filled in; movable, false where it is none
//   Held     what takers share of a batch that has landed; copyable, false where it is none
//   Taken    what a taker gets
//   Result<Place> acquire();                          room for one more batch
//   void abandon(Place place) noexcept;               a place whose batch nobody gets
//   bool completes() const noexcept;                  whether complete() does something for rows that are all good
//   std::optional<Error> complete(Place&, std::uint64_t step, std::uint32_t& rows, std::vector<FailedRow>& failed);
//                                                     bad rows leave it, or make it an error; without the mutex
//   Held yield(Place place, std::uint64_t step, std::uint32_t rows);
//   Taken taken(const Held& held, std::uint64_t step, std::uint32_t rows, std::uint64_t position);
//
// window_methods.h has its functions, which one source of each payload instantiates.
#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "drapps/base/error.h"
#include "drapps/base/result.h"
#include "drapps/pipeline/metrics.h"

namespace drapps {

/// A row of a batch, and why it is bad.
using FailedRow = std::pair<std::uint32_t, Error>;

template <class Payload>
class Window {
 public:
  struct Finished {};
  using Next = std::variant<typename Payload::Taken, Error, Finished>;
  using Lock = std::unique_lock<std::mutex>;

  /// The farthest that batches may be ahead of the slowest taker, whatever set_depth() says.
  static constexpr std::uint64_t kRing = 64;
  /// Bad samples that are kept.
  static constexpr std::size_t kMostBadSamples = 10'000;
  /// For how long a taker without memory waits for what other loaders may release, before that is an error.
  static constexpr std::uint64_t kMemoryPatienceNs = 10'000'000'000;

  /// What a batch is to hold.
  struct Content {
    std::uint32_t rows = 0;
    std::uint64_t position = 0;  // of the epoch, consumed once every rank has this batch
  };
  /// One pass, and what the runner does for the window.
  struct WindowPass {
    std::uint64_t steps = 0;     // at most; see end_at()
    std::uint64_t position = 0;  // that it begins at
    /// Asked once for each batch, with the mutex held.
    std::function<Content(std::uint64_t step)> content;
    /// Frees what memory the runner has in spare, with the mutex held.
    std::function<void()> free_memory;
  };

  /// Who gets the batches. Its members are the window's; one thread at a time takes with it.
  class Taker {
   public:
    /// The step that it takes next.
    std::uint64_t step() const noexcept { return step_; }

   private:
    friend class Window;
    std::uint64_t step_ = 0;
    std::uint64_t position_ = 0;
    bool asks_ = false;  // for its batch, which it does not have yet
  };

  /// @param metrics outlive the window; it counts batches, their samples, and failed samples.
  Window(Payload payload, WindowPass pass, Metrics& metrics)
      : payload_(std::move(payload)),
        pass_(std::move(pass)),
        metrics_(metrics),
        steps_(pass_.steps),
        position_(pass_.position) {}
  ~Window();
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  /// Guards all that is said to need it, and what a runner wants to change along with it.
  std::mutex& mutex() const noexcept { return mutex_; }

  // Filling. All but finish() with the mutex held.

  void set_depth(std::int32_t batches) noexcept { depth_ = static_cast<std::uint64_t>(batches); }
  /// How many there are, as far as is known: end_at() may still lower it.
  std::uint64_t steps() const noexcept { return steps_; }
  /// The pass ends before this step, which nobody has taken, because its source has come to its end. Places of batches
  /// behind it stay until the window goes, since rows of theirs may be under way. Call notify() without the mutex.
  void end_at(std::uint64_t step) noexcept;
  /// The batch that the slowest taker takes next.
  std::uint64_t front() const noexcept;
  /// Behind the last batch that may be opened now.
  std::uint64_t end() const noexcept;
  /// Whether rows of the batch can be filled: it is in the window, and has a place. Where there is no memory for that
  /// of the front, it is tried once more with the runner's freed, and noted as a lack.
  bool open(std::uint64_t step);
  /// Where a batch that is open is made.
  typename Payload::Place& place(std::uint64_t step) noexcept { return at(step).place; }
  std::uint32_t rows(std::uint64_t step) const noexcept { return at(step).rows; }
  /// Notes that nothing can be done about the front batch for want of memory; open() forgets it.
  void lacks(Error error);
  /// Whether such a note stands.
  bool lacking() const noexcept { return lack_.has_value(); }
  /// Whether somebody waits for the batch.
  bool awaited(std::uint64_t step) const noexcept;

  /// Counts a bad sample, and keeps it among the first; without the mutex. An error where there is no memory for that.
  Status report(const Error& error) noexcept;
  /// `rows` rows of an open batch stand, or failed, which were reported. With the mutex held; the last rows complete
  /// the batch without it, so what else the mutex guards may have changed. True where takers wait for it: call notify()
  /// without the mutex.
  bool finish(Lock& lock, std::uint64_t step, std::uint32_t rows, std::span<FailedRow> failed) noexcept;
  void notify() noexcept { landed_.notify_all(); }

  // Taking. All with the mutex held.

  /// A new taker, which begins at the front. The window outlives it.
  Taker& join();
  /// It takes no more, and ceases to be; batches that only it was missing are released. Where it was the slowest,
  /// there is room again.
  void leave(Taker& taker) noexcept;
  /// It asks for its next batch, once or again; false where there is none.
  bool ask(Taker& taker) noexcept;
  bool landed(const Taker& taker) const noexcept { return taker.step_ < steps_ && at(taker.step_).landed(); }
  /// Whether there is no batch for it any more.
  bool ended(const Taker& taker) const noexcept { return taker.step_ == steps_; }
  /// Waits until its batch has landed, or there is none, or the time has passed; whether it is one of the first two.
  bool wait(Lock& lock, const Taker& taker, std::uint64_t until_ns);
  /// The lack of memory, once it has stood for long enough to be an error.
  std::optional<Error> take_lack() noexcept;
  /// Its batch, which has landed, or what it is instead.
  Next take(Taker& taker);

  std::uint64_t position(const Taker& taker) const noexcept { return taker.position_; }
  /// Batches that have landed and wait for the slowest taker.
  std::uint32_t ready() const noexcept;
  const std::vector<Error>& bad_samples() const noexcept { return bad_; }
  std::vector<Error> take_bad_samples() noexcept { return std::exchange(bad_, {}); }

 private:
  /// One place of the ring.
  struct State {
    typename Payload::Place place{};  // from its first row's start until it is first taken
    typename Payload::Held held{};    // from then until it was last taken
    std::uint32_t rows = 0;           // of this rank; once landed, those that are left
    std::uint32_t left = 0;           // rows that have not landed
    std::uint64_t position = 0;       // behind it
    std::vector<FailedRow> failed;    // cleared, never shrunk
    std::optional<Error> raised;      // what takers get in the batch's place

    bool open() const noexcept { return static_cast<bool>(place) || static_cast<bool>(held); }
    bool landed() const noexcept { return open() && left == 0; }
    /// Keeps the error where it is the first.
    void raise(Error error) noexcept {
      if (!raised) raised = std::move(error);
    }
  };

  State& at(std::uint64_t step) noexcept { return ring_[step % kRing]; }
  const State& at(std::uint64_t step) const noexcept { return ring_[step % kRing]; }
  void complete(State& batch, std::uint64_t step);
  void let_go(State& batch) noexcept;

  Payload payload_;
  const WindowPass pass_;
  Metrics& metrics_;

  mutable std::mutex mutex_;  // guards all below
  std::condition_variable landed_;
  std::array<State, kRing> ring_;
  std::vector<std::unique_ptr<Taker>> takers_;
  std::uint64_t steps_;          // of the pass, as far as is known
  std::uint64_t left_step_ = 0;  // the front where nobody takes
  std::uint64_t position_;       // of the pass, at the front
  std::uint64_t depth_ = 1;
  std::optional<Error> lack_;
  std::uint64_t lack_since_ns_ = 0;
  std::vector<Error> bad_;
};

}  // namespace drapps
