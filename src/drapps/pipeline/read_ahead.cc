#include "drapps/pipeline/read_ahead.h"

#include <algorithm>
#include <span>

namespace drapps {

ReadAhead::NextSample ReadAhead::next() {
  const std::uint32_t rows = sampler_.batch(step_).rows;
  const std::size_t place = row_ % rows_.size();
  if (place == 0) sampler_.rows(step_, row_, std::span(rows_).first(std::min<std::size_t>(rows_.size(), rows - row_)));
  const NextSample next{.sample = rows_[place], .step = step_, .row = row_, .number = begun_++};
  if (++row_ == rows) {
    row_ = 0;
    ++step_;
  }
  return next;
}

void ReadAhead::tried(bool at_once) noexcept {
  if (at_once == at_once_) {
    streak_ = 0;
  } else if (++streak_ == kStreak) {
    at_once_ = at_once;
    streak_ = 0;
  }
}

}  // namespace drapps
