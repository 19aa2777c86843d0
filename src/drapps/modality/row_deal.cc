#include "drapps/modality/row_deal.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace drapps {
namespace {

/// Tijdeman's order. With K sources, a source may have the row t (from 1 on) where it is short of 1 / (2K - 2) rows
/// then; of those it has the row that would next be short of 1 - 1 / (2K - 2) rows. All in rows times `total` times
/// `scale`, which are whole numbers.
std::vector<std::uint32_t> order_of(const std::vector<RowDeal::DealtSource>& sources) {
  std::int64_t total = 0;
  for (const RowDeal::DealtSource& source : sources) total += source.weight;
  const std::int64_t scale = std::max<std::int64_t>(1, 2 * static_cast<std::int64_t>(sources.size()) - 2);
  std::vector<std::int64_t> had(sources.size());
  std::vector<std::uint32_t> order;
  for (std::int64_t t = 1; t <= total; ++t) {
    std::size_t chosen = sources.size();
    std::int64_t least = 0;
    for (std::size_t k = 0; k < sources.size(); ++k) {
      const std::int64_t weight = sources[k].weight;
      const std::int64_t short_of = scale * (weight * t - total * had[k]);
      if (short_of < total) continue;
      const std::int64_t left = total * (scale - 1) - short_of;  // over its weight: how many rows it can wait
      if (chosen == sources.size() || left * sources[chosen].weight < least * weight) {
        chosen = k;
        least = left;
      }
    }
    ++had[chosen];
    order.push_back(static_cast<std::uint32_t>(chosen));
  }
  return order;
}

}  // namespace

RowDeal::RowDeal(std::vector<DealtSource> sources)
    : sources_(std::move(sources)), order_(order_of(sources_)), places_(sources_.size()) {
  std::uint32_t first = 0;
  for (DealtSource& source : sources_) {
    source.first = first;
    first += source.streams;
  }
  for (std::uint32_t place = 0; place < order_.size(); ++place) places_[order_[place]].push_back(place);
}

std::uint32_t RowDeal::source_of(std::uint32_t stream) const noexcept {
  const auto behind = std::upper_bound(sources_.begin(), sources_.end(), stream,
                                       [](std::uint32_t at, const DealtSource& source) { return at < source.first; });
  return static_cast<std::uint32_t>(behind - sources_.begin() - 1);
}

std::uint64_t RowDeal::row(std::uint32_t stream, std::uint64_t of_stream) const noexcept {
  const std::uint32_t k = source_of(stream);
  const std::uint64_t of_source = of_stream * sources_[k].streams + (stream - sources_[k].first);
  return of_source / sources_[k].weight * order_.size() + places_[k][of_source % sources_[k].weight];
}

std::uint64_t RowDeal::rows_before(std::uint32_t stream, std::uint64_t row) const noexcept {
  const std::uint32_t k = source_of(stream);
  const std::vector<std::uint32_t>& places = places_[k];
  const auto in_period =
      std::lower_bound(places.begin(), places.end(), static_cast<std::uint32_t>(row % order_.size())) - places.begin();
  const std::uint64_t of_source = row / order_.size() * sources_[k].weight + static_cast<std::uint64_t>(in_period);
  const std::uint64_t streams = sources_[k].streams;
  return (of_source + streams - 1 - (stream - sources_[k].first)) / streams;
}

std::uint64_t RowDeal::period(std::uint32_t stream, std::uint64_t world) const noexcept {
  return sources_[source_of(stream)].weight * world;
}

}  // namespace drapps
