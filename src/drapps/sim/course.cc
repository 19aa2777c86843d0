#include "drapps/sim/course.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "drapps/base/exact_math.h"
#include "drapps/base/philox.h"

namespace drapps::sim {
namespace {

constexpr double kDrawEvery = 0.5;  // s

const FormCost& form_of(const World& world, const Settings& settings) noexcept {
  return world.workload.forms[static_cast<std::size_t>(settings[KnobId::kForm])];
}

}  // namespace

ScenarioCourse::ScenarioCourse(Scenario scenario)
    : scenario_(std::move(scenario)), epoch_left_(world().workload.samples) {}

double ScenarioCourse::kept_bytes(const Settings& settings) const noexcept {
  return kept_ * form_of(world(), settings).bytes;
}

double ScenarioCourse::next() const noexcept {
  if (segment_ + 1 == scenario_.segments.size()) return next_draw_;
  return std::min(next_draw_, scenario_.segments[segment_ + 1].begin);
}

bool ScenarioCourse::advance(double time) noexcept {
  const std::size_t before = segment_;
  while (segment_ + 1 < scenario_.segments.size() && scenario_.segments[segment_ + 1].begin <= time + kAlmost) {
    ++segment_;
  }
  if (time >= next_draw_ - kAlmost) draw(time);
  if (segment_ == before) return false;
  // Memory that goes to others takes what the system kept at once.
  const WorkloadModel& workload = world().workload;
  known_ = std::min(known_, world().machine.memory.page_cache / workload.sample_bytes);
  condition_.resident = std::min(condition_.resident, known_ / workload.samples);
  return true;
}

void ScenarioCourse::draw(double time) noexcept {
  next_draw_ = time + kDrawEvery;
  const double sigma = world().workload.noise;
  if (sigma <= 0) return;
  Draws draws({.seed = scenario_.seed, .position = draws_++}, 1);
  const double left = exact::exp(-kDrawEvery / world().workload.noise_time);
  for (double& each : noise_) {
    const double uniform = (draws.u32() + 0.5) * 0x1p-32;
    each = left * each + std::sqrt(1 - left * left) * sigma * exact::normal_quantile(uniform);
  }
  condition_.work = exact::exp(noise_[0]);
  condition_.storage = exact::exp(noise_[1]);
  condition_.step = exact::exp(noise_[2] / 4);  // accelerators vary less than hosts
}

void ScenarioCourse::add_samples(double samples, const Settings& settings) noexcept {
  const WorkloadModel& workload = world().workload;
  const MemoryModel& memory = world().machine.memory;
  const FormCost& form = form_of(world(), settings);
  const double room = form.bytes > 0 ? std::min(memory.cache / form.bytes, workload.samples) : 0;
  kept_ = std::min(room, kept_ + samples * (1 - condition_.cached));
  known_ = std::min(std::min(memory.page_cache / workload.sample_bytes, workload.samples), known_ + samples);
  condition_.filling = kept_ < room;
  epoch_left_ -= samples;
  if (epoch_left_ > kAlmost * workload.samples) return;
  epoch_left_ += workload.samples;
  condition_.cached = kept_ / workload.samples;
  condition_.resident = std::min(1.0, known_ / workload.samples);
}

}  // namespace drapps::sim
