#include "drapps/pipeline/window_runner.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "drapps/base/clock.h"

namespace drapps {
namespace {

// How often a taker looks whether others have given memory back, which wakes nobody here.
constexpr std::uint64_t kLookForMemoryNs = 1'000'000;

}  // namespace

WindowRunner::WindowRunner(RunnerParts parts)
    : plan_(std::move(parts.plan)),
      source_(std::move(parts.source)),
      sampler_(std::move(parts.sampler)),
      learned_(std::move(parts.learned)),
      keeper_(std::move(parts.keeper)),
      preparer_(plan_, source_, sampler_, parts.seed, learned_),
      engine_(parts.engine),
      arena_(std::move(parts.arena)),
      window_(SlotPayload(plan_, arena_, sampler_.epoch(), batch_ops()), pass(), metrics_),
      taker_(window_.join()) {}

BatchWindow::WindowPass WindowRunner::pass() {
  return {.steps = sampler_.steps(),
          .position = sampler_.start_position(),
          .content =
              [this](std::uint64_t step) {
                return BatchWindow::Content{sampler_.batch(step).rows, sampler_.position_after(step)};
              },
          .free_memory = [this] { free_memory(); }};
}

SlotPayload::BatchOps WindowRunner::batch_ops() {
  // Batch ops of what lies on a device are made there.
  const bool any = arena_->on_host() && std::any_of(plan_->parts.begin(), plan_->parts.end(),
                                                    [](const auto& part) { return part->finishes(); });
  if (!any) return {};
  return [this](std::byte* slot, std::uint64_t step, std::uint32_t rows) {
    const LaneTimer timer(lane_place(LaneRole::kCollate));  // for the worker's account: it is no sample's
    preparer_.finish(slot, step, rows);
  };
}

std::optional<Runner::Next> WindowRunner::next(std::chrono::milliseconds patience) {
  Lock lock(mutex_);
  if (!window_.ask(taker_)) return Finished{};
  std::uint64_t now = monotonic_ns();
  const std::uint64_t until = now + static_cast<std::uint64_t>(patience.count()) * 1'000'000;
  for (; !window_.landed(taker_); now = monotonic_ns()) {
    if (window_.ended(taker_)) return Finished{};
    if (now >= until) return std::nullopt;
    if (help(lock)) {
      metrics_.helped_ns.fetch_add(monotonic_ns() - now, std::memory_order_relaxed);
      continue;
    }
    if (auto lack = window_.take_lack()) return *std::move(lack);
    const bool lacking = window_.lacking();
    if (window_.wait(lock, taker_, lacking ? std::min(until, now + kLookForMemoryNs) : until)) continue;
    retry();
    lock.unlock();
    if (lacking) engine_.workers().release_idle(*this);
    engine_.workers().wake();
    lock.lock();
  }
  Next next = window_.take(taker_);
  taken(lock);
  return next;
}

void WindowRunner::leave_workers() noexcept {
  ending_.begin(engine_);
  engine_.workers().detach(*this);
}

std::uint32_t WindowRunner::ready_batches() const {
  const std::scoped_lock lock(mutex_);
  return window_.ready();
}

bool WindowRunner::ready() const {
  const std::scoped_lock lock(mutex_);
  return window_.landed(taker_);
}

Upcoming WindowRunner::upcoming() const {
  std::uint64_t step = 0;
  std::uint64_t end = 0;
  {
    const std::scoped_lock lock(mutex_);
    step = window_.front();
    end = window_.end();
  }
  // Drawing an index takes as long as all else here: the first rows of two batches stand for the rest.
  constexpr std::uint64_t kRows = Upcoming::kMost / 2;
  Upcoming upcoming;
  std::array<std::uint64_t, kRows> some;
  const auto look = [&](std::uint64_t at) {
    const std::span indices = std::span(some).first(std::min<std::uint64_t>(kRows, sampler_.batch(at).rows));
    sampler_.indices(at, 0, indices);
    for (const std::uint64_t index : indices) {
      const Hint hint = source_->hint(index);
      const bool learned = learned_ != nullptr && learned_->knows_all(index);
      upcoming.add({.samples = 1,
                    .sized = hint.bytes > 0 ? 1u : 0u,
                    .bytes = hint.bytes,
                    .seen = hint.work > 0 ? 1u : 0u,
                    .pixels = hint.work,
                    .indexed = learned ? 1u : 0u});
    }
  };
  if (step < end) look(step);
  if (step + 1 < end) look(end - 1);
  return upcoming;
}

std::uint64_t WindowRunner::position() const {
  const std::scoped_lock lock(mutex_);
  return window_.position(taker_);
}

std::uint64_t WindowRunner::left() const {
  const std::scoped_lock lock(mutex_);
  return window_.steps() - taker_.step();
}

std::vector<Error> WindowRunner::bad_samples() const {
  const std::scoped_lock lock(mutex_);
  return window_.bad_samples();
}

std::vector<Error> WindowRunner::take_bad_samples() noexcept {
  const std::scoped_lock lock(mutex_);
  return window_.take_bad_samples();
}

bool WindowRunner::release_idle() noexcept {
  arena_->trim();
  const std::scoped_lock lock(mutex_);
  free_memory();
  return taker_.step() != window_.steps();
}

}  // namespace drapps
