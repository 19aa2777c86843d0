#include "drapps/pipeline/read_ahead.h"

namespace drapps {

ReadAhead::NextSample ReadAhead::next() {
  const NextSample next{.sample = sampler_.row(step_, row_), .step = step_, .row = row_, .number = begun_++};
  if (++row_ == sampler_.batch(step_).rows) {
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
