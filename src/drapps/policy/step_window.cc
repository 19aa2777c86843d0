#include "drapps/policy/step_window.h"

#include <algorithm>
#include <cmath>

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

/// Fetch and transfer wait for devices by nature, and so do lanes on one; Python code does what it likes. Only the
/// others' waiting is contention.
bool computes(const Lane& lane) {
  return lane.device == LaneDevice::kCpu && lane.role != LaneRole::kFetch && lane.role != LaneRole::kTransfer &&
         lane.role != LaneRole::kPython;
}

}  // namespace

StepWindow::WindowMark StepWindow::mark_of(const Observation& observation) noexcept {
  WindowMark mark{.steps = observation.consumer.step.count,
                  .samples = observation.consumer.samples,
                  .step_ns = observation.consumer.step.sum,
                  .stall_ns = observation.consumer.stall.sum,
                  .wall_ns = 0,
                  .cpu_ns = 0};
  for (std::size_t i = 0; i < kLanes.size(); ++i) {
    if (!observation.lanes[i].valid || !computes(kLanes[i])) continue;
    mark.wall_ns += observation.lanes[i].service_wall.sum;
    mark.cpu_ns += observation.lanes[i].service_cpu.sum;
  }
  return mark;
}

double StepWindow::sample_ns(const WindowMark& block) noexcept {
  return static_cast<double>(block.step_ns) / static_cast<double>(block.samples > 0 ? block.samples : block.steps);
}

bool StepWindow::exceptional(const Observation& observation) noexcept {
  const std::uint64_t limit = std::max(kPauseNs, kPauseFactor * usual_ns_);
  const bool pause = usual_ns_ != 0 && longest_ns_ > Histogram::upper_edge(Histogram::bucket_of(limit));
  const bool exception = begun_ && (pause || observation.consumer.passes > passes_);
  passes_ = observation.consumer.passes;
  exceptions_ = exception ? exceptions_ + 1 : 0;
  longest_ns_ = 0;
  const bool left_out = exception && exceptions_ <= kExceptionsInARow;
  if (!left_out && observation.consumer.step.p50 != 0) usual_ns_ = observation.consumer.step.p50;
  return left_out;
}

void StepWindow::add(const Observation& observation) noexcept {
  const WindowMark now = mark_of(observation);
  longest_ns_ = std::max(longest_ns_, observation.consumer.step.most);
  if (now.steps < last_.steps || now.samples < last_.samples || now.step_ns < last_.step_ns ||
      now.stall_ns < last_.stall_ns) {
    begun_ = false;
  }
  if (begun_ && now.step_ns - last_.step_ns < kBlockNs) return;  // the block goes on
  const bool left_out = exceptional(observation);
  if (begun_ && !left_out) {
    const WindowMark block{.steps = now.steps - last_.steps,
                           .samples = now.samples - last_.samples,
                           .step_ns = now.step_ns - last_.step_ns,
                           .stall_ns = now.stall_ns - last_.stall_ns,
                           .wall_ns = now.wall_ns >= last_.wall_ns ? now.wall_ns - last_.wall_ns : 0,
                           .cpu_ns = now.cpu_ns >= last_.cpu_ns ? now.cpu_ns - last_.cpu_ns : 0};
    sum_ = {sum_.steps + block.steps,       sum_.samples + block.samples, sum_.step_ns + block.step_ns,
            sum_.stall_ns + block.stall_ns, sum_.wall_ns + block.wall_ns, sum_.cpu_ns + block.cpu_ns};
    const double mean = sample_ns(block);
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
  measure.sample_ns = sample_ns(sum_);
  if (blocks_ > 1 && mean_ > 0) measure.error = std::sqrt(squares_ / (blocks_ - 1) / blocks_) / mean_;
  if (sum_.step_ns > 0) {
    measure.stall = std::min(1.0, static_cast<double>(sum_.stall_ns) / static_cast<double>(sum_.step_ns));
  }
  if (sum_.cpu_ns > 0) measure.stretch = static_cast<double>(sum_.wall_ns) / static_cast<double>(sum_.cpu_ns);
  return measure;
}

}  // namespace drapps
