#include "drapps/training/plant_environment.h"

#include <algorithm>

#include "drapps/base/philox.h"
#include "drapps/policy/registry.h"
#include "drapps/policy/stretch.h"
#include "drapps/sim/random_worlds.h"

namespace drapps::training {
namespace {

constexpr double kLongest = 10;  // s of a decision, however few batches there were
constexpr double kStart = 0.5;   // s until the first decision
constexpr std::uint16_t kOrdinalStart = 8;
constexpr unsigned kListsBit = 56;

std::uint32_t moved_knobs(const Settings& a, const Settings& b) noexcept {
  std::uint32_t count = a.lane_weights != b.lane_weights ? 1 : 0;
  for (std::size_t i = 0; i < kKnobs; ++i) count += a.knobs[i] != b.knobs[i] ? 1 : 0;
  return count;
}

}  // namespace

/// How many lists of hardest episodes there are stands in the upper byte.
std::uint64_t PlantEnvironment::numbered(std::uint64_t drawn) const {
  return (drawn & ~(std::uint64_t{0xFF} << kListsBit)) | std::uint64_t{course_->hardest.size()} << kListsBit;
}

void PlantEnvironment::begin(std::uint64_t number) {
  random_ = rl::Random(number, 2);
  std::uint32_t place = random_.below(static_cast<std::uint32_t>(course_->episodes.size()));
  if (const std::size_t lists = std::min(number >> kListsBit, course_->hardest.size()); lists > 0) {
    const std::vector<std::uint32_t>& hardest = course_->hardest[lists - 1];
    if (random_.uniform() < options_.hard) place = hardest[random_.below(static_cast<std::uint32_t>(hardest.size()))];
  }
  episode_ = &course_->episodes[place];
  sim::Scenario scenario = episode_->scenario;
  scenario.seed = number;
  const double how = random_.uniform();
  Settings start = episode_->initial;
  if (how < options_.warm) {
    start = episode_->best.front();
  } else if (how < options_.warm + options_.anywhere) {
    Draws draws({.seed = number}, kOrdinalStart);
    const Settings any = sim::random_settings(sim::limits_of(scenario.segments.front().world), draws);
    for (const KnobId id : shape_->moves.knobs()) start[id] = any[id];
  }
  delay_ = random_.below(options_.delay + 1);
  noise_ = options_.noise * random_.uniform();
  plant_ = std::make_unique<sim::FluidPlant>(std::move(scenario), start);
  guard_ = std::make_unique<Guard>(plant_->limits());
  memory_ = {};
  if (!shape_->over.empty()) {
    base_ = *make_policy({.name = shape_->over});  // one of kBasePolicies
    base_state_ = {.limits = plant_->limits()};
  }
  late_.assign(delay_, plant_->settings());
  plant_->advance(kStart);
  take_in();
}

void PlantEnvironment::take_in() {
  seen_ = plant_->observe();
  guard_->set_limits(plant_->limits());
  inputs_.resize(shape_->inputs.size());
  shape_->inputs.next(seen_, plant_->limits(), memory_, inputs_.data());
  if (noise_ <= 0) return;
  for (float& value : inputs_) {
    if (value != 0) value *= static_cast<float>(1 + noise_ * random_.normal());
  }
}

void PlantEnvironment::look(float* inputs, std::uint8_t* mask) const {
  std::ranges::copy(inputs_, inputs);
  shape_->moves.mask(seen_.settings, plant_->limits(), memory_, mask);
}

std::size_t PlantEnvironment::segment() const noexcept {
  const auto& segments = episode_->scenario.segments;
  std::size_t at = 0;
  while (at + 1 < segments.size() && segments[at + 1].begin <= plant_->time() - tick()) ++at;
  return at;
}

rl::Outcome PlantEnvironment::step(const float* action) {
  Settings from = seen_.settings;
  if (base_ != nullptr) {
    base_state_.limits = plant_->limits();
    from = base_->decide(seen_, base_state_);
  }
  late_.push_back(shape_->moves.moved(from, plant_->limits(), action));
  const Decision decision = guard_->rule(seen_, late_.front(), seen_.time_ns);
  late_.erase(late_.begin());
  plant_->apply(decision.applied);

  const sim::Totals before = plant_->totals();
  const std::uint64_t batches = seen_.batches;
  const double begun = plant_->time();
  const double end = episode_->scenario.seconds;
  do {
    plant_->advance(std::min(tick(), end - plant_->time()));
  } while (plant_->counters().batches < batches + options_.pace.count &&
           plant_->time() < std::min(end, begun + kLongest) - 1e-9);
  take_in();

  const sim::Totals& now = plant_->totals();
  const sim::World& world = plant_->world();
  const double seconds = now.seconds - before.seconds;
  const double trained = now.steps - before.steps;
  const bool has_gpu = world.machine.gpu.count > 0;
  Stretch stretch{.rate = (now.samples - before.samples) / seconds,
                  .best = episode_->rates[segment()],
                  .held = episode_->held[segment()],
                  .asked = world.consumer.step > 0 ? world.workload.batch / world.consumer.step : 0,
                  .stall = trained > 0 ? (now.stall - before.stall) / trained : 0,
                  .cpu = (now.core - before.core) / seconds / world.machine.cores.count,
                  .threads = makers_share(seen_.settings, plant_->limits()),
                  .memory = static_cast<double>(seen_.memory_used) / static_cast<double>(seen_.memory_limit),
                  .moves = moved_knobs(decision.before, decision.applied)};
  stretch.gpu = has_gpu ? 1 - (now.gpu_idle - before.gpu_idle) / seconds : 1 - stretch.stall;
  return {.reward = reward_of(options_.reward, stretch), .cut = plant_->time() >= end - 1e-9};
}

}  // namespace drapps::training
