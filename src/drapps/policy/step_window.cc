#include "drapps/policy/step_window.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace drapps {
namespace {

constexpr std::uint64_t kMinNs = 3'000'000'000;
constexpr std::uint64_t kMaxNs = 9'000'000'000;
constexpr std::uint64_t kBlockNs = 250'000'000;
constexpr std::uint64_t kMinSteps = 8;
constexpr std::uint32_t kMinBlocks = 4;
constexpr double kEnough = 0.01;
constexpr std::uint64_t kPauseNs = 1'000'000'000;
constexpr std::uint64_t kPauseFactor = 8;
constexpr std::uint32_t kExceptionsInARow = 2;

std::uint64_t steps_from(const HistogramCounts& counts, std::uint64_t bucket) noexcept {
  return std::accumulate(counts.buckets.begin() + static_cast<std::ptrdiff_t>(bucket), counts.buckets.end(),
                         std::uint64_t{0});
}

/// Fetch and transfer wait for devices by nature, and so do lanes on one; only the others' waiting is contention.
bool computes(const Lane& lane) {
  return lane.device == LaneDevice::kCpu && lane.role != LaneRole::kFetch && lane.role != LaneRole::kTransfer;
}

}  // namespace

StepWindow::Mark StepWindow::mark_of(const Observation& observation) noexcept {
  Mark mark{.steps = observation.step.count,
            .step_ns = observation.step.sum,
            .stall_ns = observation.stall.sum,
            .wall_ns = 0,
            .cpu_ns = 0};
  for (std::size_t i = 0; i < kLanes.size(); ++i) {
    if (!observation.lanes[i].valid || !computes(kLanes[i])) continue;
    mark.wall_ns += observation.lanes[i].service_wall.sum;
    mark.cpu_ns += observation.lanes[i].service_cpu.sum;
  }
  return mark;
}

bool StepWindow::exceptional(const Observation& observation) noexcept {
  const bool pause = steps_from(observation.step, pause_bucket_) > long_steps_;
  const bool exception = begun_ && (pause || observation.passes > passes_);
  const std::uint64_t usual = observation.step.quantile(0.5);
  pause_bucket_ = Histogram::bucket_of(std::max(kPauseNs, kPauseFactor * usual)) + 1;
  long_steps_ = steps_from(observation.step, pause_bucket_);
  passes_ = observation.passes;
  exceptions_ = exception ? exceptions_ + 1 : 0;
  return exception && exceptions_ <= kExceptionsInARow;
}

void StepWindow::add(const Observation& observation) noexcept {
  const Mark now = mark_of(observation);
  if (now.steps < last_.steps || now.step_ns < last_.step_ns || now.stall_ns < last_.stall_ns) begun_ = false;
  if (begun_ && now.step_ns - last_.step_ns < kBlockNs) return;  // the block goes on
  const bool left_out = exceptional(observation);
  if (begun_ && !left_out) {
    const Mark block{.steps = now.steps - last_.steps,
                     .step_ns = now.step_ns - last_.step_ns,
                     .stall_ns = now.stall_ns - last_.stall_ns,
                     .wall_ns = now.wall_ns >= last_.wall_ns ? now.wall_ns - last_.wall_ns : 0,
                     .cpu_ns = now.cpu_ns >= last_.cpu_ns ? now.cpu_ns - last_.cpu_ns : 0};
    sum_ = {sum_.steps + block.steps, sum_.step_ns + block.step_ns, sum_.stall_ns + block.stall_ns,
            sum_.wall_ns + block.wall_ns, sum_.cpu_ns + block.cpu_ns};
    const double mean = static_cast<double>(block.step_ns) / static_cast<double>(block.steps);
    const double off = mean - mean_;
    mean_ += off / ++blocks_;
    squares_ += off * (mean - mean_);
  }
  begun_ = true;
  last_ = now;
}

bool StepWindow::long_enough() const noexcept {
  return sum_.step_ns >= kMinNs && sum_.steps >= kMinSteps && blocks_ >= kMinBlocks;
}

bool StepWindow::complete() const noexcept {
  return long_enough() && (sum_.step_ns >= kMaxNs || measure().error <= kEnough);
}

StepMeasure StepWindow::measure() const noexcept {
  StepMeasure measure;
  if (sum_.steps == 0) return measure;
  measure.step_ns = static_cast<double>(sum_.step_ns) / static_cast<double>(sum_.steps);
  if (blocks_ > 1 && mean_ > 0) measure.error = std::sqrt(squares_ / (blocks_ - 1) / blocks_) / mean_;
  if (sum_.step_ns > 0) {
    measure.stall = std::min(1.0, static_cast<double>(sum_.stall_ns) / static_cast<double>(sum_.step_ns));
  }
  if (sum_.cpu_ns > 0) measure.stretch = static_cast<double>(sum_.wall_ns) / static_cast<double>(sum_.cpu_ns);
  return measure;
}

}  // namespace drapps
