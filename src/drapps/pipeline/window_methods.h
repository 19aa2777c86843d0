// The functions of window.h, for who instantiates it.
#pragma once

#include <algorithm>
#include <iterator>
#include <utility>

#include "drapps/base/caught.h"
#include "drapps/base/clock.h"
#include "drapps/pipeline/window.h"

namespace drapps {

template <class Payload>
Window<Payload>::~Window() {
  for (State& batch : ring_) {
    if (batch.place) payload_.abandon(std::move(batch.place));
  }
}

template <class Payload>
std::uint64_t Window<Payload>::front() const noexcept {
  std::uint64_t front = takers_.empty() ? left_step_ : steps_;
  for (const auto& taker : takers_) front = std::min(front, taker->step_);
  return front;
}

template <class Payload>
std::uint64_t Window<Payload>::end() const noexcept {
  return std::min(front() + std::clamp<std::uint64_t>(depth_, 1, kRing), steps_);
}

template <class Payload>
void Window<Payload>::end_at(std::uint64_t step) noexcept {
  steps_ = std::min(steps_, step);
  for (const auto& taker : takers_) steps_ = std::max(steps_, taker->step_);
}

template <class Payload>
bool Window<Payload>::open(std::uint64_t step) {
  if (step >= end()) return false;
  State& batch = at(step);
  if (batch.open()) return true;
  const auto acquire = [this] { return payload_.acquire(); };
  auto place = catching(acquire);
  if (!place.ok() && step == front()) {
    pass_.free_memory();
    place = catching(acquire);
  }
  if (!place.ok()) {
    if (step == front()) lacks(std::move(place).error());
    return false;
  }
  lack_.reset();
  const Content content = pass_.content(step);
  batch.place = *std::move(place);
  batch.rows = batch.left = content.rows;
  batch.position = content.position;
  return true;
}

template <class Payload>
void Window<Payload>::lacks(Error error) {
  if (lack_) return;
  lack_ = std::move(error);
  lack_since_ns_ = monotonic_ns();
}

template <class Payload>
bool Window<Payload>::awaited(std::uint64_t step) const noexcept {
  return std::any_of(takers_.begin(), takers_.end(),
                     [&](const auto& taker) { return taker->step_ == step && taker->asks_; });
}

template <class Payload>
Status Window<Payload>::report(const Error& error) noexcept {
  metrics_.failed_samples.fetch_add(1, std::memory_order_relaxed);
  return catching([&] {
    const std::scoped_lock lock(mutex_);
    if (bad_.size() < kMostBadSamples) bad_.push_back(error);
  });
}

template <class Payload>
bool Window<Payload>::finish(Lock& lock, std::uint64_t step, std::uint32_t rows, std::span<FailedRow> failed) noexcept {
  State& batch = at(step);
  Status noted = catching([&] {
    batch.failed.insert(batch.failed.end(), std::move_iterator(failed.begin()), std::move_iterator(failed.end()));
  });
  if (!noted.ok()) batch.raise(std::move(noted).error());
  if (batch.left == rows && (payload_.completes() ||
                             !batch.failed.empty())) {  // nobody but this thread has to do with it until it has landed
    lock.unlock();
    Status completed = catching([&] { complete(batch, step); });
    if (!completed.ok()) batch.raise(std::move(completed).error());
    batch.failed.clear();
    lock.lock();
  }
  batch.left -= rows;
  return batch.left == 0 && awaited(step);
}

template <class Payload>
void Window<Payload>::complete(State& batch, std::uint64_t step) {
  if (batch.raised) return;
  std::sort(batch.failed.begin(), batch.failed.end(),
            [](const FailedRow& a, const FailedRow& b) { return a.first < b.first; });
  batch.raised = payload_.complete(batch.place, step, batch.rows, batch.failed);
}

template <class Payload>
typename Window<Payload>::Taker& Window<Payload>::join() {
  auto taker = std::make_unique<Taker>();
  taker->step_ = front();
  taker->position_ = position_;
  takers_.push_back(std::move(taker));
  return *takers_.back();
}

template <class Payload>
void Window<Payload>::leave(Taker& taker) noexcept {
  std::uint64_t step = front();
  left_step_ = taker.step_;
  std::erase_if(takers_, [&](const auto& each) { return each.get() == &taker; });
  for (; step < front(); ++step) let_go(at(step));
}

template <class Payload>
bool Window<Payload>::ask(Taker& taker) noexcept {
  taker.asks_ = !ended(taker);
  return taker.asks_;
}

template <class Payload>
bool Window<Payload>::wait(Lock& lock, const Taker& taker, std::uint64_t until_ns) {
  const std::uint64_t now = monotonic_ns();
  const std::chrono::nanoseconds left(until_ns > now ? until_ns - now : 0);
  return landed_.wait_for(lock, left, [&] { return landed(taker) || ended(taker); });
}

template <class Payload>
std::optional<Error> Window<Payload>::take_lack() noexcept {
  if (!lack_ || monotonic_ns() - lack_since_ns_ <= kMemoryPatienceNs) return std::nullopt;
  return std::exchange(lack_, std::nullopt);
}

template <class Payload>
typename Window<Payload>::Next Window<Payload>::take(Taker& taker) {
  State& batch = at(taker.step_);
  taker.asks_ = false;
  const std::uint64_t step = taker.step_++;
  taker.position_ = batch.position;
  const bool last = front() > step;
  if (batch.raised) {
    Error error = last ? *std::move(batch.raised) : *batch.raised;
    if (last) let_go(batch);
    return error;
  }
  if (!batch.held) batch.held = payload_.yield(std::exchange(batch.place, {}), step, batch.rows);
  auto taken = payload_.taken(batch.held, step, batch.rows, batch.position);
  if (last) let_go(batch);
  return taken;
}

template <class Payload>
void Window<Payload>::let_go(State& batch) noexcept {
  position_ = batch.position;
  metrics_.batches.fetch_add(1, std::memory_order_relaxed);
  if (!batch.raised) metrics_.samples.fetch_add(batch.rows, std::memory_order_relaxed);
  if (batch.place) payload_.abandon(std::exchange(batch.place, {}));
  batch.held = {};
  batch.raised.reset();
}

template <class Payload>
std::uint32_t Window<Payload>::ready() const noexcept {
  std::uint32_t landed = 0;
  const std::uint64_t behind = std::min(front() + kRing, steps_);
  for (std::uint64_t step = front(); step < behind; ++step) landed += at(step).landed() ? 1 : 0;
  return landed;
}

}  // namespace drapps
