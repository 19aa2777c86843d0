// Which row of which stream each row of an epoch is.
//
// Rows are dealt to sources by weight, and those of a source to its streams in turn. Before any row each source has had
// its share of the rows, to less than one row. The order of sources repeats with the sum of the weights; it is that of
// R. Tijdeman, "The chairman assignment problem", Discrete Mathematics 32 (1980).
//
//   RowDeal deal({{.weight = 7, .streams = 14}, {.weight = 3, .streams = 6}});
//   deal.source(q), deal.row(stream, r), deal.rows_before(stream, q)
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace drapps {

/// Immutable.
class RowDeal {
 public:
  static constexpr std::uint32_t kMostWeight = 10'000;  // of all sources together

  struct DealtSource {
    std::uint32_t weight = 1;
    std::uint32_t streams = 1;
    std::uint32_t first = 0;  // of its streams among those of all
  };

  /// Requires a source, weights and streams above zero, and weights of at most kMostWeight in all. `first` is set here.
  explicit RowDeal(std::vector<DealtSource> sources);

  const std::vector<DealtSource>& sources() const noexcept { return sources_; }
  std::uint32_t streams() const noexcept { return sources_.back().first + sources_.back().streams; }
  /// The source of a row, by its number among all rows.
  std::uint32_t source(std::uint64_t row) const noexcept { return order_[row % order_.size()]; }
  std::uint32_t source_of(std::uint32_t stream) const noexcept;
  /// Where the row `of_stream` of a stream stands among all.
  std::uint64_t row(std::uint32_t stream, std::uint64_t of_stream) const noexcept;
  /// How many rows of a stream stand before a row of all.
  std::uint64_t rows_before(std::uint32_t stream, std::uint64_t row) const noexcept;
  /// Of so many neighbouring rows of a stream one is of the rank whose rows are rank, rank + world, …, or none ever is.
  std::uint64_t period(std::uint32_t stream, std::uint64_t world) const noexcept;

 private:
  std::vector<DealtSource> sources_;
  std::vector<std::uint32_t> order_;                // the source of each row of a period
  std::vector<std::vector<std::uint32_t>> places_;  // of each source's rows in a period
};

}  // namespace drapps
