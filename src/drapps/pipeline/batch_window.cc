#include "drapps/pipeline/batch_window.h"

#include <algorithm>
#include <chrono>
#include <iterator>

#include "drapps/base/caught.h"
#include "drapps/base/clock.h"

namespace drapps {

BatchWindow::BatchWindow(std::shared_ptr<const Plan> plan, std::shared_ptr<SlotArena> arena, Pass pass,
                         Metrics& metrics)
    : plan_(std::move(plan)),
      arena_(std::move(arena)),
      pass_(std::move(pass)),
      metrics_(metrics),
      position_(pass_.position) {}

BatchWindow::~BatchWindow() {
  for (State& batch : ring_) {
    if (batch.slot != nullptr) arena_->abandon(batch.slot);
  }
}

std::uint64_t BatchWindow::front() const noexcept {
  std::uint64_t front = takers_.empty() ? left_step_ : pass_.steps;
  for (const auto& taker : takers_) front = std::min(front, taker->step_);
  return front;
}

std::uint64_t BatchWindow::end() const noexcept {
  return std::min(front() + std::clamp<std::uint64_t>(depth_, 1, kRing), pass_.steps);
}

bool BatchWindow::open(std::uint64_t step) {
  if (step >= end()) return false;
  State& batch = at(step);
  if (batch.open()) return true;
  const auto acquire = [this] { return arena_->acquire(); };
  auto slot = catching(acquire);
  if (!slot.ok() && step == front()) {
    pass_.free_memory();
    slot = catching(acquire);
  }
  if (!slot.ok()) {
    if (step == front()) lacks(std::move(slot).error());
    return false;
  }
  lack_.reset();
  const Content content = pass_.content(step);
  batch.slot = *slot;
  batch.rows = batch.left = content.rows;
  batch.position = content.position;
  return true;
}

void BatchWindow::lacks(Error error) {
  if (lack_) return;
  lack_ = std::move(error);
  lack_since_ns_ = monotonic_ns();
}

bool BatchWindow::awaited(std::uint64_t step) const noexcept {
  return std::any_of(takers_.begin(), takers_.end(),
                     [&](const auto& taker) { return taker->step_ == step && taker->asks_; });
}

Status BatchWindow::report(const Error& error) noexcept {
  metrics_.failed_samples.fetch_add(1, std::memory_order_relaxed);
  return catching([&] {
    const std::scoped_lock lock(mutex_);
    if (bad_.size() < kMostBadSamples) bad_.push_back(error);
  });
}

bool BatchWindow::finish(Lock& lock, std::uint64_t step, std::uint32_t rows, std::span<FailedRow> failed) noexcept {
  State& batch = at(step);
  Status noted = catching([&] {
    batch.failed.insert(batch.failed.end(), std::move_iterator(failed.begin()), std::move_iterator(failed.end()));
  });
  if (!noted.ok()) batch.raise(std::move(noted).error());
  if (batch.left == rows &&
      (pass_.complete || !batch.failed.empty())) {  // nobody but this thread has to do with it until it has landed
    lock.unlock();
    Status completed = catching([&] { complete(batch, step); });
    if (!completed.ok()) batch.raise(std::move(completed).error());
    batch.failed.clear();
    lock.lock();
  }
  batch.left -= rows;
  return batch.left == 0 && awaited(step);
}

/// What a batch needs as a whole once all its rows stand: bad rows leave it, or make it an error; then its batch ops.
void BatchWindow::complete(State& batch, std::uint64_t step) {
  auto& failed = batch.failed;
  std::sort(failed.begin(), failed.end(), [](const FailedRow& a, const FailedRow& b) { return a.first < b.first; });
  auto raised = std::find_if(failed.begin(), failed.end(), [](const FailedRow& row) { return blameless(row.second); });
  if (plan_->spec.on_error == OnError::kRaise) raised = failed.begin();
  if (raised != failed.end()) {
    batch.raise(std::move(raised->second));
  } else if (!batch.raised) {
    std::vector<std::uint32_t> bad_rows;
    bad_rows.reserve(failed.size());
    for (const auto& [row, error] : failed) bad_rows.push_back(row);
    batch.rows = plan_->drop_rows(batch.slot->data(), batch.rows, bad_rows);
    if (pass_.complete) pass_.complete(batch.slot->data(), step, batch.rows);
  }
}

BatchWindow::Taker& BatchWindow::join() {
  auto taker = std::make_unique<Taker>();
  taker->step_ = front();
  taker->position_ = position_;
  takers_.push_back(std::move(taker));
  return *takers_.back();
}

void BatchWindow::leave(Taker& taker) noexcept {
  std::uint64_t step = front();
  left_step_ = taker.step_;
  std::erase_if(takers_, [&](const auto& each) { return each.get() == &taker; });
  for (; step < front(); ++step) let_go(at(step));
}

bool BatchWindow::ask(Taker& taker) noexcept {
  taker.asks_ = taker.step_ != pass_.steps;
  return taker.asks_;
}

bool BatchWindow::wait(Lock& lock, const Taker& taker, std::uint64_t until_ns) {
  const std::uint64_t now = monotonic_ns();
  const std::chrono::nanoseconds left(until_ns > now ? until_ns - now : 0);
  return landed_.wait_for(lock, left, [&] { return landed(taker); });
}

std::optional<Error> BatchWindow::take_lack() noexcept {
  if (!lack_ || monotonic_ns() - lack_since_ns_ <= kMemoryPatienceNs) return std::nullopt;
  return std::exchange(lack_, std::nullopt);
}

BatchWindow::Next BatchWindow::take(Taker& taker) {
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
  if (!batch.held) {
    if (arena_->on_host()) plan_->write_header(batch.slot->data(), step, pass_.epoch, batch.rows);
    batch.held = arena_->yield(std::exchange(batch.slot, nullptr));
  }
  Batch taken{.slot = batch.held, .plan = plan_, .rows = batch.rows, .step = step, .position = batch.position};
  if (last) let_go(batch);
  return taken;
}

void BatchWindow::let_go(State& batch) noexcept {
  position_ = batch.position;
  metrics_.batches.fetch_add(1, std::memory_order_relaxed);
  if (!batch.raised) metrics_.samples.fetch_add(batch.rows, std::memory_order_relaxed);
  if (batch.slot != nullptr) arena_->abandon(std::exchange(batch.slot, nullptr));
  batch.held = {};
  batch.raised.reset();
}

std::uint32_t BatchWindow::ready() const noexcept {
  return static_cast<std::uint32_t>(
      std::count_if(ring_.begin(), ring_.end(), [](const State& batch) { return batch.landed(); }));
}

}  // namespace drapps
