#include "drapps/control/iterator.h"

#include <unistd.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "drapps/base/clock.h"
#include "drapps/base/process_local.h"
#include "drapps/control/controller.h"

namespace drapps {
namespace {

using nlohmann::json;

}  // namespace

json FirstBatch::to_json() const {
  json parts = json::object();
  if (given == 0) return parts;
  std::uint64_t from = began;
  const std::pair<const char*, std::uint64_t> ends[] = {
      {"first_read_s", read}, {"first_sample_s", sample}, {"rest_s", given}};
  for (const auto& [name, end] : ends) {
    if (end < from) continue;
    parts[name] = static_cast<double>(end - from) * 1e-9;
    from = end;
  }
  return parts;
}

Iterator::Iterator(Parts parts)
    : maker_(getpid()),
      limit_(std::move(parts.limit)),
      runner_(std::move(parts.runner)),
      plant_(std::move(parts.plant)),
      client_(std::move(parts.client)),
      arena_(std::move(parts.arena)),
      first_(std::move(parts.first)),
      consumer_(std::make_unique<ConsumerClock>(plant_->consumer())),
      position_(runner_->position()),
      left_(runner_->left()) {}

void Iterator::begin(std::uint32_t epoch, const Limits& limits) {
  consumer_->set_batch(runner_->plan().spec.sampler.batch);
  client_->begin_epoch(epoch);
  // Before attach(), which may fail: where it does, close() takes back both.
  Controller::of_process().add(client_);
  plant_->attach(*runner_, limits);
}

Iterator::~Iterator() { close(); }

void Iterator::close() {
  if (runner_ == nullptr) return;
  if (maker_ != getpid()) {
    // The threads that work for it are the parent's; here it is only memory, and stays so.
    abandon(std::move(runner_));
    abandon(std::move(plant_));
    abandon(std::move(client_));
    abandon(std::move(consumer_));
    return;
  }
  consumer_->ends(monotonic_ns());
  plant_->detach(*runner_);
  Controller::of_process().remove(client_);
  bad_ = runner_->take_bad_samples();
  cursors_ = runner_->cursors(position_);
  const std::shared_ptr<SlotArena> arena = runner_->arena();
  const bool whole = runner_->left() == 0 && arena->on_host();
  const std::shared_ptr<ArenaPlace> place = whole ? arena_.lock() : nullptr;
  runner_.reset();
  // What a whole pass worked in serves the next one. Who ends a pass early wants its memory back.
  place != nullptr ? place->keep(arena) : arena->retire();
  limit_.reset();
}

std::optional<Runner::Next> Iterator::next(std::chrono::milliseconds patience) {
  if (maker_ != getpid()) {
    return invalid("this iterator belongs to process " + std::to_string(maker_) +
                   ", which made it before a fork; call "
                   "iter() on the loader again in this one");
  }
  if (runner_ == nullptr) return Runner::Finished{};
  const std::uint64_t helped = runner_->metrics().helped_ns.load(std::memory_order_relaxed);
  if (!outside_) consumer_->asks(monotonic_ns());
  auto next = runner_->next(patience);
  helped_ns_ += runner_->metrics().helped_ns.load(std::memory_order_relaxed) - helped;
  if (next && !outside_) {
    const std::uint64_t now = monotonic_ns();
    const std::uint64_t worked = std::exchange(helped_ns_, 0);
    std::holds_alternative<Runner::Finished>(*next) ? consumer_->ends(now) : consumer_->gives(now, worked);
  }
  if (auto* error = next ? std::get_if<Error>(&*next) : nullptr) {
    advise(*error);
    if (error->stage == Stage::kSetup) error->stage = Stage::kBatch;  // an exception does not say where it arose
  }
  if (next && first_->given == 0) {
    const Metrics& metrics = runner_->metrics();
    first_->read = metrics.read.ns();
    first_->sample = metrics.first_sample.ns();
    first_->given = monotonic_ns();
  }
  position_ = runner_->position();
  left_ = runner_->left();
  return next;
}

void Iterator::outside_asks() {
  if (maker_ != getpid() || runner_ == nullptr) return;
  helped_ns_ = 0;  // what was worked ahead of this was no part of a wait
  consumer_->asks(monotonic_ns());
}

void Iterator::outside_gives() {
  if (maker_ == getpid() && runner_ != nullptr) consumer_->gives(monotonic_ns(), std::exchange(helped_ns_, 0));
}

std::vector<std::uint64_t> Iterator::take_large_pictures() {
  if (runner_ == nullptr || maker_ != getpid()) return {};
  return runner_->metrics().large.take(position_);
}

std::vector<StreamCursor> Iterator::cursors(std::uint64_t position) const {
  return runner_ == nullptr || maker_ != getpid() ? cursors_ : runner_->cursors(position);
}

std::vector<Error> Iterator::bad_samples() const {
  return runner_ == nullptr || maker_ != getpid() ? bad_ : runner_->bad_samples();
}

}  // namespace drapps
