#include "drapps/policy/hill_climb.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "drapps/plant/knob_range.h"
#include "drapps/policy/guard.h"
#include "drapps/policy/initial.h"

namespace drapps {
namespace {

constexpr double kEpoch = 0.5;  // seconds between decisions

/// What a loader and a training step would do at some settings and time.
struct Response {
  double compute = 0.01;  // seconds of the step itself
  double capacity = 100;  // batches per second that can be prepared
  double stretch = 1;     // wall / CPU
};
using Model = std::function<Response(const Settings&, double seconds)>;

/// A fluid model of a loader: the step takes the longer of its own time and a batch's preparation.
class SyntheticPlant {
 public:
  SyntheticPlant(Model model, double noise = 0.0, std::uint32_t seed = 1)
      : model_(std::move(model)), noise_(noise), random_(seed) {}

  void rest(double seconds) { now_ += seconds; }
  void pause_every(double seconds, double length) { pause_every_ = seconds, pause_ = length; }

  /// Runs for an epoch at `seen.settings`; returns the mean step without pauses, in seconds.
  double run(Observation& seen) {
    const double end = now_ + kEpoch;
    // Drift: what noise there is stays for a while (lag-1 autocorrelation 0.77, as measured).
    drift_ = 0.77 * drift_ + 0.64 * noise_ * normal_(random_);
    double steps = 0;
    double total = 0;
    while (now_ < end) {
      const Response response = model_(seen.settings, now_);
      const double own = response.compute * (1 + drift_) * (1 + noise_ * normal_(random_));
      const double prepared = (1 + drift_) / response.capacity;
      const double step = std::max(own, prepared);
      record(step_, step);
      record(stall_, step - own);
      record(wall_, step * response.stretch);
      record(cpu_, step);
      ++seen.batches;
      seen.ready_batches = prepared > own ? 0 : static_cast<std::uint32_t>(seen.settings[KnobId::kPrefetchDepth]);
      now_ += step;
      total += step;
      ++steps;
      if (pause_every_ > 0 && now_ > next_pause_) {
        next_pause_ = now_ + pause_every_;
        now_ += pause_;
        record(step_, pause_);
        record(stall_, 0);
      }
    }
    seen.consumer.step = spread(step_, step_before_);
    seen.consumer.stall = spread(stall_, stall_before_);
    seen.lanes[lane_place(LaneRole::kPrepare)] = {
        .valid = true, .service_wall = spread(wall_, wall_before_), .service_cpu = spread(cpu_, cpu_before_)};
    seen.time_ns = static_cast<std::uint64_t>(now_ * 1e9);
    seen.process_cpu_seconds = now_;
    return total / steps;
  }

  double now() const { return now_; }

 private:
  static void record(HistogramCounts& counts, double seconds) {
    counts.record(static_cast<std::uint64_t>(std::max(0.0, seconds) * 1e9));
  }

  Model model_;
  double noise_;
  std::mt19937 random_;
  std::normal_distribution<double> normal_;
  double now_ = 0;
  double drift_ = 0;
  double pause_every_ = 0;
  double pause_ = 0;
  double next_pause_ = 30;
  HistogramCounts step_, step_before_, stall_, stall_before_, wall_, wall_before_, cpu_, cpu_before_;
};

struct Moment {
  double time;
  double step;
  Settings settings;
  bool moved;
};

/// A climb through the guard.
struct Climber {
  explicit Climber(const Limits& given, const Settings& start) : limits(given), guard(given), state{given} {
    seen.settings = start;
  }

  std::vector<Moment> climb(SyntheticPlant& plant, double seconds) {
    std::vector<Moment> moments;
    const HillClimb policy;
    while (plant.now() < seconds) {
      const double step = plant.run(seen);
      const Settings proposed = policy.decide(seen, state);
      const Decision decision = guard.rule(seen, proposed, seen.time_ns);
      moments.push_back({plant.now(), step, decision.applied, decision.applied != decision.before});
      seen.settings = decision.applied;
    }
    return moments;
  }

  Limits limits;
  Guard guard;
  PolicyState state;
  Observation seen;
};

double mean_step(const std::vector<Moment>& moments, double from, double to) {
  double sum = 0;
  int count = 0;
  for (const Moment& moment : moments) {
    if (moment.time < from || moment.time >= to) continue;
    sum += moment.step;
    ++count;
  }
  return sum / count;
}

int moves(const std::vector<Moment>& moments, double from, double to) {
  int count = 0;
  for (const Moment& moment : moments) count += moment.time >= from && moment.time < to && moment.moved;
  return count;
}

/// Step time of the best settings there are, by trying all of them without noise.
double best_static(const Model& model, const Limits& limits, double time) {
  double best = 1e9;
  Settings settings;
  const auto each = [&](auto&& self, std::size_t at) -> void {
    if (at == kKnobs) {
      const Response response = model(settings, time);
      best = std::min(best, std::max(response.compute, 1 / response.capacity));
      return;
    }
    const KnobRange range(knob_table()[at], limits);
    for (std::int32_t value = range.low();; value = range.up(value)) {
      settings.knobs[at] = value;
      self(self, at + 1);
      if (value == range.high()) return;
    }
  };
  each(each, 0);
  return best;
}

Limits limits_of(std::int32_t workers) { return native_limits(workers, 64, 8, true); }

Settings start_of(const Limits& limits, std::int32_t workers) {
  Settings settings = initial_settings(limits);
  settings[KnobId::kWorkers] = workers;
  return settings;
}

double workers_of(const Settings& settings) { return settings[KnobId::kWorkers]; }

TEST(HillClimb, ClimbsAConcaveResponseToTheBestStatic) {
  const Model model = [](const Settings& s, double) {
    return Response{.compute = 0.010, .capacity = 20 * std::pow(workers_of(s), 0.8)};
  };
  const Limits limits = limits_of(16);
  for (std::uint32_t seed = 1; seed <= 5; ++seed) {
    SyntheticPlant plant(model, 0.01, seed);
    const auto run = Climber(limits, start_of(limits, 1)).climb(plant, 180);
    EXPECT_LT(mean_step(run, 120, 180), 1.04 * best_static(model, limits, 0)) << seed;
    EXPECT_LE(moves(run, 120, 180), 4) << seed;
  }
}

TEST(HillClimb, ComesDownWhereMoreWorkersFightEachOther) {
  const Model model = [](const Settings& s, double) {
    const double n = workers_of(s);
    return Response{
        .compute = 0.004, .capacity = 40 * n / (1 + 0.02 * (n - 1) + 0.02 * n * (n - 1)), .stretch = 1 + n / 8};
  };
  const Limits limits = limits_of(32);
  for (std::uint32_t seed = 1; seed <= 5; ++seed) {
    SyntheticPlant plant(model, 0.01, seed);
    const auto run = Climber(limits, initial_settings(limits)).climb(plant, 240);
    EXPECT_LT(mean_step(run, 180, 240), 1.05 * best_static(model, limits, 0)) << seed;
  }
}

TEST(HillClimb, SparesWorkersThatSlowTheStep) {
  const Model model = [](const Settings& s, double) {
    return Response{.compute = 0.050 * (1 + 0.02 * workers_of(s)), .capacity = 9 * workers_of(s)};
  };
  const Limits limits = limits_of(16);
  for (std::uint32_t seed = 1; seed <= 5; ++seed) {
    SyntheticPlant plant(model, 0.01, seed);
    const auto run = Climber(limits, initial_settings(limits)).climb(plant, 240);
    EXPECT_LT(mean_step(run, 180, 240), 1.05 * best_static(model, limits, 0)) << seed;
    EXPECT_LE(run.back().settings[KnobId::kWorkers], 4) << seed;
    EXPECT_GE(run.back().settings[KnobId::kWorkers], 3) << seed;
  }
}

TEST(HillClimb, FindsDepthsAndTheSplitPlan) {
  const Model model = [](const Settings& s, double) {
    const double prefetch = 1 - 0.5 / s[KnobId::kPrefetchDepth];
    const double io = 1 - 0.5 / s[KnobId::kIoDepth];
    return Response{.compute = 0.005, .capacity = 100 * prefetch * io * (s[KnobId::kFused] == 0 ? 1.3 : 1.0)};
  };
  const Limits limits = limits_of(2);
  Settings start = initial_settings(limits);
  start[KnobId::kPrefetchDepth] = start[KnobId::kIoDepth] = 1;
  SyntheticPlant plant(model, 0.01);
  const auto run = Climber(limits, start).climb(plant, 300);
  EXPECT_EQ(run.back().settings[KnobId::kFused], 0);
  EXPECT_LT(mean_step(run, 240, 300), 1.10 * best_static(model, limits, 0));
}

TEST(HillClimb, FollowsABurstOfForeignLoadThatComesAndGoes) {
  const Model model = [](const Settings& s, double t) {
    const bool burst = t >= 150 && t < 300;
    const double n = workers_of(s);
    return Response{.compute = 0.020 * (1 + 0.01 * n), .capacity = (burst ? 8 : 20) * n, .stretch = burst ? 2.5 : 1};
  };
  const Limits limits = limits_of(16);
  for (std::uint32_t seed = 1; seed <= 5; ++seed) {
    SyntheticPlant plant(model, 0.01, seed);
    const auto run = Climber(limits, initial_settings(limits)).climb(plant, 450);
    EXPECT_LT(mean_step(run, 100, 150), 1.05 * best_static(model, limits, 0)) << seed;
    EXPECT_LT(mean_step(run, 230, 300), 1.05 * best_static(model, limits, 200)) << seed;
    EXPECT_LT(mean_step(run, 400, 450), 1.05 * best_static(model, limits, 0)) << seed;
  }
}

TEST(HillClimb, DoesNotOscillateOnNoise) {
  const Model model = [](const Settings&, double) { return Response{.compute = 0.010, .capacity = 90}; };
  const Limits limits = limits_of(16);
  for (std::uint32_t seed = 1; seed <= 5; ++seed) {
    SyntheticPlant plant(model, 0.02, seed);
    const auto run = Climber(limits, start_of(limits, 6)).climb(plant, 900);
    EXPECT_LE(moves(run, 300, 900), 8) << seed;
  }
}

TEST(HillClimb, PausesOfTheTrainingStartNoClimb) {
  const Model model = [](const Settings&, double) { return Response{.compute = 0.020, .capacity = 40}; };
  const Limits limits = limits_of(4);
  SyntheticPlant plant(model, 0.01);
  plant.pause_every(40, 15);
  const auto run = Climber(limits, initial_settings(limits)).climb(plant, 900);
  EXPECT_GT(moves(run, 0, 300), 0);
  EXPECT_EQ(moves(run, 300, 900), 0);
}

TEST(HillClimb, HasPatienceWithTheGuardBetweenPasses) {
  // Split costs a little: the way back waits for the slow clock, and often for the next pass.
  const Model model = [](const Settings& s, double) {
    return Response{.compute = 0.005, .capacity = s[KnobId::kFused] == 0 ? 60.0 : 100.0};
  };
  const Limits limits = limits_of(1);
  for (const double length : {6.0, 7.0, 8.0, 9.0}) {
    SyntheticPlant plant(model, 0.01);
    Climber climber(limits, initial_settings(limits));
    bool tried = false;
    for (int pass = 0; pass < 200 / length; ++pass) {
      ++climber.seen.consumer.passes;
      for (const double end = plant.now() + length; plant.now() < end;) {
        climber.climb(plant, plant.now() + kEpoch / 2);
        EXPECT_EQ(climber.state.why.view().find("does not move"), std::string_view::npos) << climber.state.why.view();
        tried = tried || climber.seen.settings[KnobId::kFused] == 0;
      }
      plant.rest(60);
    }
    EXPECT_TRUE(tried) << length;
    EXPECT_EQ(climber.seen.settings[KnobId::kFused], 1) << length;
  }
}

TEST(HillClimb, TriesInItsTurnAloneAndReturnsWhereItLostIt) {
  const Limits limits = native_limits(8, 16, 8, true);
  Settings start = initial_settings(limits);
  start[KnobId::kWorkers] = 2;
  SyntheticPlant plant(
      [](const Settings& settings, double) { return Response{.capacity = 20.0 * settings[KnobId::kWorkers]}; });
  Climber climber(limits, start);
  const auto moved = [](const std::vector<Moment>& moments) {
    return std::ranges::any_of(moments, [](const Moment& moment) { return moment.moved; });
  };
  climber.seen.turn = Turn::kTaken;
  EXPECT_FALSE(moved(climber.climb(plant, 40)));
  EXPECT_EQ(climber.state.trying, Trying::kWaits);
  climber.seen.turn = Turn::kAsked;
  EXPECT_FALSE(moved(climber.climb(plant, 80)));
  EXPECT_EQ(climber.state.trying, Trying::kWaits);
  climber.seen.turn = Turn::kOpen;
  double until = 80;
  while (climber.state.trying != Trying::kTries || climber.seen.settings == start) {
    climber.climb(plant, until += kEpoch);
    ASSERT_LT(until, 200);
  }
  climber.seen.turn = Turn::kTaken;
  climber.climb(plant, until += 20);
  EXPECT_EQ(climber.seen.settings, start);
  EXPECT_EQ(climber.state.trying, Trying::kWaits);
  climber.seen.turn = Turn::kOpen;
  climber.climb(plant, until + 300);
  EXPECT_GE(climber.seen.settings[KnobId::kWorkers], 5);
  EXPECT_EQ(climber.state.trying, Trying::kNot);
}

TEST(HillClimb, ReplaysFromObservationsAndStates) {
  const Model model = [](const Settings& s, double t) {
    return Response{.compute = 0.01, .capacity = (t > 60 ? 30 : 15) * workers_of(s)};
  };
  const Limits limits = limits_of(16);
  const HillClimb policy;
  const HillClimb other;
  SyntheticPlant plant(model, 0.03);
  Observation seen;
  seen.settings = start_of(limits, 2);
  PolicyState state{limits};
  Guard guard(limits);
  while (plant.now() < 120) {
    plant.run(seen);
    PolicyState copy = state;
    const Settings proposed = policy.decide(seen, state);
    ASSERT_EQ(other.decide(seen, copy), proposed);
    ASSERT_EQ(copy.why, state.why);
    seen.settings = guard.rule(seen, proposed, seen.time_ns).applied;
  }
}

TEST(HillClimb, GoesOnFromEpochToEpochHoweverShort) {
  const Model model = [](const Settings& s, double) {
    return Response{.compute = 0.010, .capacity = 20 * std::pow(workers_of(s), 0.8)};
  };
  const Limits limits = limits_of(16);
  for (const double length : {2.0, 5.0, 20.0}) {
    Climber climber(limits, start_of(limits, 1));
    double step = 0;
    for (int epoch = 0; epoch < 200 / length; ++epoch) {
      SyntheticPlant plant(model, 0.01, 7);
      const Settings settings = climber.seen.settings;
      climber.seen = {};
      climber.seen.settings = settings;
      climber.guard = Guard(limits);
      step = mean_step(climber.climb(plant, length), 0, length + 1);
    }
    EXPECT_LT(step, 1.05 * best_static(model, limits, 0)) << length;
  }
}

}  // namespace
}  // namespace drapps
