#include "drapps/source/sampler.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <utility>

namespace drapps {
Result<Sampler> Sampler::make(const SamplerSpec& spec, std::uint32_t epoch, std::uint64_t start_position,
                              IndexList subset) {
  if (subset != nullptr && subset->size() != spec.size) {
    return invalid("the subset has " + std::to_string(subset->size()) + " indices, the sampler's size is " +
                   std::to_string(spec.size) + "; they must be equal");
  }
  return check_and_make(spec, epoch, start_position, spec.seed, std::move(subset));
}

Result<Sampler> Sampler::make_explicit(const SamplerSpec& spec, IndexList order, std::uint32_t epoch,
                                       std::uint64_t start_position) {
  SamplerSpec own = spec;
  own.size = order->size();
  own.shuffle = false;
  own.rank = 0;
  own.world = 1;
  // An odd multiple keeps the keys of different ranks apart, and rank 0 at the seed itself.
  const std::uint64_t seed = spec.seed + static_cast<std::uint64_t>(spec.rank) * 0x9E3779B97F4A7C15u;
  return check_and_make(own, epoch, start_position, seed, std::move(order));
}

Result<Sampler> Sampler::check_and_make(const SamplerSpec& spec, std::uint32_t epoch, std::uint64_t start,
                                        std::uint64_t seed, IndexList list) {
  if (spec.world < 1 || spec.rank < 0 || spec.rank >= spec.world) {
    return invalid("rank " + std::to_string(spec.rank) + " is not one of a world of " + std::to_string(spec.world) +
                   "; ranks count from 0 to world - 1");
  }
  if (spec.batch < 1) return invalid("a batch of 0 rows holds nothing; give at least 1");
  if (spec.size > Permutation::kMaxSize) {
    return invalid("an order of " + std::to_string(spec.size) + " samples is longer than the largest, " +
                   std::to_string(Permutation::kMaxSize));
  }
  if (start > spec.size) {
    return invalid("position " + std::to_string(start) + " lies beyond the order's " + std::to_string(spec.size) +
                   " samples; the state belongs to another data set");
  }
  const auto world = static_cast<std::uint64_t>(spec.world);
  const std::uint64_t tail = (spec.size - start) % (world * spec.batch);
  if (spec.remainder == Remainder::kEven && tail != 0 && tail < world) {
    return invalid(std::to_string(spec.size - start) + " samples in global batches of " +
                   std::to_string(world * spec.batch) + " leave " + std::to_string(tail) +
                   " for the last one, fewer than its " + std::to_string(world) +
                   " ranks, so some would take no step; use remainder=\"pad\" or \"drop\", or another batch size");
  }
  return Sampler(spec, epoch, start, seed, std::move(list));
}

Sampler::Sampler(const SamplerSpec& spec, std::uint32_t epoch, std::uint64_t start, std::uint64_t seed,
                 IndexList list) noexcept
    : spec_(spec),
      epoch_(epoch),
      start_(start),
      seed_(seed),
      list_(std::move(list)),
      order_(spec.shuffle ? spec.size : 0, seed, epoch) {
  const std::uint64_t global = static_cast<std::uint64_t>(spec.world) * spec.batch;
  full_steps_ = (spec.size - start) / global;
  tail_ = (spec.size - start) % global;
  if (spec.remainder == Remainder::kDrop) dropped_ = {spec.size - tail_, std::exchange(tail_, 0)};
  steps_ = full_steps_ + (tail_ != 0 ? 1 : 0);
}

std::uint64_t Sampler::rows() const noexcept {
  return steps_ == 0 ? 0 : (steps_ - 1) * spec_.batch + batch(steps_ - 1).rows;
}

Sampler::BatchRows Sampler::batch(std::uint64_t step) const noexcept {
  const std::uint64_t batch = spec_.batch;
  const auto rank = static_cast<std::uint64_t>(spec_.rank);
  const auto world = static_cast<std::uint64_t>(spec_.world);
  const std::uint64_t global = start_ + step * batch * world;
  if (step < full_steps_) return {global + rank * batch, spec_.batch, 0};
  if (spec_.remainder == Remainder::kPad) {
    const std::uint64_t first = global + rank * batch;
    const std::uint64_t real = first >= spec_.size ? 0 : std::min(spec_.size - first, batch);
    return {first, spec_.batch, spec_.batch - static_cast<std::uint32_t>(real)};
  }
  const std::uint64_t least = tail_ / world;
  const std::uint64_t longer = tail_ % world;  // so many ranks, the first ones, take one row more
  return {global + rank * least + std::min(rank, longer), static_cast<std::uint32_t>(least + (rank < longer ? 1 : 0)),
          0};
}

Sampler::Row Sampler::row(std::uint64_t step, std::uint32_t row) const noexcept {
  const std::uint64_t position = batch(step).first_position + row;
  const bool padded = position >= spec_.size;
  return {position, index_at(padded ? position % spec_.size : position), padded};
}

void Sampler::rows(std::uint64_t step, std::uint32_t first, std::span<Row> out) const noexcept {
  std::array<std::uint64_t, 16> some;
  for (; !out.empty(); out = out.subspan(std::min(some.size(), out.size()))) {
    const std::size_t count = std::min(some.size(), out.size());
    indices(step, first, std::span(some).first(count));
    std::uint64_t position = batch(step).first_position + first;
    for (std::size_t i = 0; i < count; ++i, ++position) out[i] = {position, some[i], position >= spec_.size};
    first += static_cast<std::uint32_t>(count);
  }
}

void Sampler::indices(std::uint64_t step, std::uint32_t first, std::span<std::uint64_t> out) const noexcept {
  const std::uint64_t position = batch(step).first_position + first;
  if (position + out.size() > spec_.size) {  // some of it is padding
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = row(step, first + static_cast<std::uint32_t>(i)).index;
    return;
  }
  if (spec_.shuffle) {
    order_.at(position, out);
  } else {
    std::iota(out.begin(), out.end(), position);
  }
  if (list_ == nullptr) return;
  for (std::uint64_t& place : out) place = (*list_)[place];
}

std::uint64_t Sampler::position_after(std::uint64_t step) const noexcept {
  const std::uint64_t global = static_cast<std::uint64_t>(spec_.world) * spec_.batch;
  return std::min(start_ + (step + 1) * global, spec_.size);
}

std::uint64_t Sampler::replacement(std::uint64_t position, std::uint32_t attempt) const noexcept {
  Draws draws(coordinate(position), kOrdinalReplace);
  for (std::uint32_t skipped = 0; skipped < attempt; ++skipped) {
    draws.u32();
    draws.u32();
  }
  const std::uint64_t chosen = draw_below(draws, spec_.size);
  return list_ != nullptr ? (*list_)[chosen] : chosen;
}

std::uint64_t Sampler::index_at(std::uint64_t order_position) const noexcept {
  const std::uint64_t place = spec_.shuffle ? order_.at(order_position) : order_position;
  return list_ != nullptr ? (*list_)[place] : place;
}

}  // namespace drapps
