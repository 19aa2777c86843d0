#include "drapps/sim/fluid_plant.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace drapps::sim {
namespace {

// Until it makes samples, a worker process waits so many s and computes for so many: 46 that were started at once on
// two cores took 3.7 s of these from 2 others, which used them up.
constexpr double kProcessWaits = 0.2, kProcessComputes = 0.078;

}  // namespace

void FluidPlant::Team::ask(double count, double at) noexcept {
  double more = count - working - waiting();
  // Members of the team that are still to begin are the first to be given up.
  for (std::size_t i = starting.size(); i-- > 0 && more < 0;) {
    const double given_up = std::min(starting[i].count, -more);
    starting[i].count -= given_up;
    more += given_up;
  }
  if (more < 0) working += more;
  if (more <= 0) return;
  const auto unused = std::ranges::find_if(starting, [](const Starting& each) { return each.count <= 0; });
  Starting& place = unused == starting.end() ? starting.back() : *unused;
  place.count += more;
  place.at = at;
}

bool FluidPlant::Team::begin(double time) noexcept {
  const double before = working;
  for (Starting& each : starting) {
    if (each.count > 0 && each.at <= time + kAlmost) working += std::exchange(each.count, 0);
  }
  return working != before;
}

double FluidPlant::Team::waiting() const noexcept {
  double sum = 0;
  for (const Starting& each : starting) sum += each.count;
  return sum;
}

double FluidPlant::Team::next() const noexcept {
  double soonest = std::numeric_limits<double>::infinity();
  for (const Starting& each : starting) {
    if (each.count > 0) soonest = std::min(soonest, each.at);
  }
  return soonest;
}

FluidPlant::FluidPlant(Scenario scenario, const Settings& settings) : SimulatedPlant(std::move(scenario), settings) {
  makers_.working = settings_[maker_knob()];
  remote_.working = settings_[KnobId::kRemoteWorkers];
}

/// s until processes make samples that are started now, where there will be so many.
double FluidPlant::process_start(double processes) const noexcept {
  const CoreModel& cores = world().machine.cores;
  const SampleCost& cost = rates_.cost;
  const double seconds = cost.cpu_sum + cost.sleep;
  const double computing = seconds > 0 ? makers_.working * cost.cpu_sum / seconds : 0;
  const double runnable = std::max(0.0, processes - makers_.working) + computing + cores.foreign;
  return kProcessWaits + kProcessComputes * std::max(1.0, runnable / cores.count);
}

void FluidPlant::apply(const Settings& settings) {
  const Settings before = std::exchange(settings_, fit_settings(settings, limits_));
  if (settings_ == before) return;
  moved_ = true;
  if (settings_[KnobId::kForm] != before[KnobId::kForm]) course_.forget_kept();
  const double makers = settings_[maker_knob()];
  makers_.ask(makers, time_ + (world().in_processes() ? process_start(makers) : 0));
  remote_.ask(settings_[KnobId::kRemoteWorkers], time_ + world().machine.remote.start);
}

/// Brings everything up to the present time that does not flow.
void FluidPlant::refresh() noexcept {
  if (course_.advance(time_)) {
    limits_ = limits_of(world());
    apply(settings_);
    moved_ = true;
  }
  makers_.begin(time_);
  remote_.begin(time_);
  Condition now = course_.condition();
  now.makers = makers_.working;
  now.starting = makers_.waiting();
  now.remote = remote_.working;
  if (!std::exchange(moved_, false) && now == condition_) return;
  condition_ = now;
  rates_ = rates_of(world(), settings_, condition_);
}

void FluidPlant::stretch(double most) noexcept {
  const bool paused = time_ < paused_until_ - kAlmost;
  const double capacity = window_of(world(), settings_) * world().workload.batch;
  double make = rates_.produce;
  double take = paused ? 0 : rates_.consume;
  double seconds = most;
  const bool full = level_ >= capacity * (1 - kAlmost) && make >= take;
  const bool empty = level_ <= capacity * kAlmost && make <= take;
  if (full || empty) {
    // Where the window has become smaller, nothing is made until it fits.
    const bool over = level_ > capacity * (1 + kAlmost);
    make = over || paused ? 0 : rates_.meet;
    take = over ? take : make;
    if (over && take > 0) seconds = std::min(seconds, (level_ - capacity) / take);
  } else if (make > take) {
    seconds = std::min(seconds, (capacity - level_) / (make - take));
  } else if (take > make) {
    seconds = std::min(seconds, level_ / (take - make));
  }
  if (make > 0) seconds = std::min(seconds, course_.epoch_left() / make);

  SteadyStretch done{.seconds = seconds,
                     .output = make * seconds,
                     .taken = take * seconds,
                     .stall = paused ? 0 : seconds * std::max(0.0, 1 - take / rates_.consume),
                     .makers = makers_.working,
                     .starting = makers_.waiting(),
                     .remote = remote_.working + remote_.waiting(),
                     .kept = course_.kept_bytes(settings_),
                     .paused = paused,
                     .full = full};
  level_ = std::max(0.0, level_ + done.output - done.taken);
  done.ready = std::floor(level_ / world().workload.batch + kAlmost);
  accounts_.add(world(), settings_, rates_, done);
  time_ += seconds;
  if (!paused) trained_ += seconds;
  course_.add_samples(done.output, settings_);
}

void FluidPlant::advance(double seconds) {
  const double end = time_ + seconds;
  while (time_ < end - kAlmost) {
    refresh();
    const ConsumerModel& consumer = world().consumer;
    const bool pauses = consumer.pause > 0 && consumer.pause_every > 0;
    if (pauses && trained_ >= consumer.pause_every - kAlmost) {
      trained_ = 0;
      paused_until_ = time_ + consumer.pause;
    }
    double until = std::min({end, course_.next(), makers_.next(), remote_.next()});
    if (time_ < paused_until_ - kAlmost) {
      until = std::min(until, paused_until_);
    } else if (pauses) {
      until = std::min(until, time_ + consumer.pause_every - trained_);
    }
    stretch(until - time_);
  }
}

}  // namespace drapps::sim
