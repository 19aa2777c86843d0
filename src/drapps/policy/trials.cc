#include "drapps/policy/trials.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>
#include <utility>

namespace drapps {
namespace {

constexpr std::size_t kFewest = 2;  // windows that say anything
constexpr std::size_t kMost = 12;   // windows that are remembered, and after which a trial ends
constexpr double kWaits = 0.1;      // share of the time from which on the consumer counts as waiting
constexpr double kIdle = 0.05;      // share of the budget from which on cores count as idle
constexpr double kOver = 0.05;      // share of the budget by which it may be exceeded
constexpr double kAlmost = 0.1;     // of a process, for which no further one is wanted
constexpr double kLeastCores = 1e-3;
constexpr double kFallen = 0.5;                        // share of the cores used before below which samples are others
constexpr std::uint32_t kFell = 3;                     // windows in a row that show it
constexpr double kLeastNoise = 0.01;                   // of a rate, at least
constexpr std::uint32_t kMostFailures = 20;            // failures, or beginnings anew, that lengthen the next wait
constexpr double kMostMeasured = 1e15;                 // beyond which a number is no measurement
constexpr std::uint64_t kPatienceNs = 30'000'000'000;  // for processes that come or go

/// What a window showed.
struct Measurement {
  double cores;   // that the processes used, or would have without waiting for the budget
  double idle;    // cores that had nothing to do at all
  double waited;  // share of the time that the consumer waited for a batch
  double rate;    // samples, and batches as such, per second
};

class Measurements {
 public:
  void add(const Measurement& measurement) noexcept {
    if (size_ == kMost) std::shift_left(measurements_.begin(), measurements_.end(), 1);
    size_ = std::min(size_ + 1, kMost);
    measurements_[size_ - 1] = measurement;
  }
  void clear() noexcept { size_ = 0; }
  std::size_t size() const noexcept { return size_; }
  bool plausible() const noexcept {
    return size_ <= kMost && std::all_of(all().begin(), all().end(), [](const Measurement& one) {
             return std::abs(one.cores) + std::abs(one.idle) + std::abs(one.waited) + std::abs(one.rate) <
                    kMostMeasured;
           });
  }
  std::span<const Measurement> all() const noexcept { return std::span(measurements_).first(size_); }
  Measurement mean() const noexcept {
    Measurement sum{};
    for (const Measurement& one : all()) {
      sum = {sum.cores + one.cores, sum.idle + one.idle, sum.waited + one.waited, sum.rate + one.rate};
    }
    const auto count = static_cast<double>(size_);
    return {sum.cores / count, sum.idle / count, sum.waited / count, sum.rate / count};
  }
  /// Squared deviations of the rates from their mean, summed.
  double squares() const noexcept {
    const double middle = mean().rate;
    return std::accumulate(all().begin(), all().end(), 0.0, [&](double sum, const Measurement& one) {
      return sum + (one.rate - middle) * (one.rate - middle);
    });
  }

 private:
  std::array<Measurement, kMost> measurements_;
  std::size_t size_;
};

/// What the trials remember. Zero bytes are their beginning.
struct TrialsState {
  bool begun;
  std::uint64_t time_ns, stall_ns, output, demand_ns, idle_cores_ns, idle;  // where the window began
  std::uint64_t unsettled_ns;  // since when processes are on their way to come or to go; 0: none are
  Measurements measurements;
  bool jumped;  // the first trial has begun
  bool trying;
  std::int32_t before, aimed;    // processes of the trial
  Measurements measured_before;  // with as many processes as `before`, of a trial that runs or has failed
  std::uint32_t failed;          // trials in a row
  std::uint64_t cool_until_ns;
  std::uint32_t fallen;  // windows in a row in which few cores were used
  std::uint32_t anew;    // times that all began anew
  std::uint64_t anew_after_ns;
  double cpus;  // the budget at the last window
};
static_assert(std::is_trivially_copyable_v<TrialsState> && sizeof(TrialsState) <= kBaseMemory);

enum class Gain : std::uint8_t { kUnknown, kNone, kSome };

/// Whether the rate rose by what a trial must bring.
Gain gain_of(const Measurements& before, const Measurements& after, double least) {
  if (after.size() < kFewest) return Gain::kUnknown;
  const double old = before.mean().rate;
  const double gain = after.mean().rate - (1 + least) * old;
  // The deviation of the rates within the two groups, pooled: few windows tell little.
  const auto count = static_cast<double>(before.size() + after.size());
  const double spread = std::max(std::sqrt((before.squares() + after.squares()) / (count - 2)), kLeastNoise * old);
  const double error =
      spread * std::sqrt(1 / static_cast<double>(before.size()) + 1 / static_cast<double>(after.size()));
  if (after.size() < kMost && std::abs(gain) <= 2 * error) return Gain::kUnknown;
  return gain > 0 ? Gain::kSome : Gain::kNone;
}

class TrialsDecider {
 public:
  TrialsDecider(const Observation& seen, PolicyState& state, double gain, std::uint64_t cool_down_ns)
      : seen_(seen),
        state_(state),
        least_gain_(gain),
        cool_down_ns_(cool_down_ns),
        memory_(state.load<TrialsState>()) {}

  Settings decide() {
    state_.why = {};
    if (processes() <= 0) return seen_.settings;
    Settings settings = seen_.settings;
    settings[KnobId::kProcesses] = propose();
    state_.store(memory_);
    return settings;
  }

 private:
  std::int32_t processes() const { return seen_.settings[KnobId::kProcesses]; }
  double budget() const { return state_.limits.cpus; }

  std::int32_t propose() {
    if (memory_.trying && processes() != memory_.aimed) end_trial(/*gained=*/false);  // some could not be started
    const double cpus_before = std::exchange(memory_.cpus, budget());
    const bool changed = memory_.begun && cpus_before != budget();
    const bool settled = settle();
    Measurement measurement{};
    const bool seen = look(measurement);
    if (changed) {
      state_.say("the limits have changed: %.2f cores, %.2f before", budget(), cpus_before);
      forget_measured();
    }
    // A cut waits for those that leave, but not for those that are still to come.
    const bool usable = settled || (over(measurement) && seen_.processes.leaving == 0);
    const bool tries = seen && usable && !over(measurement) && wanted(measurement) > processes() && !cooling();
    state_.trying = memory_.trying ? Trying::kTries : tries ? Trying::kWaits : Trying::kNot;
    if (changed || !seen || !usable) return processes();
    if (seen_.turn == Turn::kTaken) return stand_aside(measurement);
    if (fell(measurement)) {
      if (++memory_.fallen == kFell) begin_anew(measurement);
      return processes();
    }
    memory_.fallen = 0;
    memory_.measurements.add(measurement);
    if (memory_.trying) return judge();
    return memory_.measurements.size() < kFewest ? processes() : consider();
  }

  /// What is seen now is the effect of another loader's trial, and says nothing.
  std::int32_t stand_aside(const Measurement& measurement) {
    forget_measured();
    if (!std::exchange(memory_.trying, false)) return processes();
    state_.trying = Trying::kNot;
    return leave_for(memory_.before, measurement, "another loader tries something");
  }

  /// What as many processes as there are did before, where that is known.
  const Measurements& known() const {
    return memory_.measurements.size() >= kFewest ? memory_.measurements : memory_.measured_before;
  }

  /// Whether they use so few of the cores now that their samples must be waiting for something else.
  bool fell(const Measurement& measurement) const {
    if (memory_.trying || known().size() < kFewest || seen_.time_ns < memory_.anew_after_ns) return false;
    return measurement.cores < kFallen * known().mean().cores && measurement.idle > kIdle * budget();
  }

  void begin_anew(const Measurement& measurement) {
    state_.say("samples wait for something else: %.2f of %.2f cores, %.2f before", measurement.cores, budget(),
               known().mean().cores);
    forget_measured();
    memory_.fallen = 0;
    memory_.jumped = false;
    memory_.failed = 0;
    memory_.cool_until_ns = 0;
    memory_.anew = std::min(memory_.anew + 1, kMostFailures);
    memory_.anew_after_ns = seen_.time_ns + (cool_down_ns_ << memory_.anew);
  }

  void forget_measured() {
    memory_.measurements.clear();
    memory_.measured_before.clear();
  }

  bool cooling() const { return seen_.time_ns < memory_.cool_until_ns; }

  /// Whether just the processes that are meant to were at work when this window began.
  bool settle() {
    const bool settled = memory_.unsettled_ns == 0 || seen_.time_ns - memory_.unsettled_ns > kPatienceNs;
    const bool on_their_way = seen_.processes.starting > 0 || seen_.processes.leaving > 0;
    if (!on_their_way) memory_.unsettled_ns = 0;
    if (on_their_way && memory_.unsettled_ns == 0) memory_.unsettled_ns = seen_.time_ns;
    return settled;
  }

  /// The window that ends now, and begins the next one. False where it says nothing.
  bool look(Measurement& measurement) {
    const TrialsState then = memory_;
    memory_.begun = true;
    memory_.time_ns = seen_.time_ns;
    memory_.stall_ns = seen_.consumer.stall.sum;
    memory_.output = seen_.processes.output;
    memory_.demand_ns = seen_.processes.demand_ns;
    memory_.idle_cores_ns = seen_.processes.idle_cores_ns;
    memory_.idle = seen_.processes.idle;
    const bool backwards = seen_.time_ns <= then.time_ns || seen_.consumer.stall.sum < then.stall_ns ||
                           memory_.output < then.output || memory_.demand_ns < then.demand_ns;
    if (!then.begun || backwards) return false;
    const auto ns = static_cast<double>(seen_.time_ns - then.time_ns);
    const double cores = static_cast<double>(memory_.demand_ns - then.demand_ns) / ns;
    // A core that others keep busy is not idle, however little of it the processes get.
    const std::uint64_t idle_ns = memory_.idle_cores_ns - std::min(memory_.idle_cores_ns, then.idle_cores_ns);
    const double idle = then.idle_cores_ns > 0 ? static_cast<double>(idle_ns) / ns : budget();
    measurement = {.cores = cores,
                   .idle = idle,
                   .waited = static_cast<double>(seen_.consumer.stall.sum - then.stall_ns) / ns,
                   .rate = static_cast<double>(memory_.output - then.output) / ns * 1e9};
    const bool waits = measurement.waited > kWaits && memory_.idle == then.idle;
    return measurement.rate > 0 && (waits || over(measurement));
  }

  bool over(const Measurement& measurement) const { return measurement.cores > (1 + kOver) * budget(); }

  /// The number of processes that a measurement speaks for, trials and cool-downs apart.
  std::int32_t wanted(const Measurement& measurement) const {
    const double each = std::max(measurement.cores, kLeastCores) / processes();
    const auto filling = [&](double cores) {
      return static_cast<std::int32_t>(std::min(std::ceil(cores / each - kAlmost), 1e6));
    };
    // Where others keep all cores busy, processes that hardly need one are tried all the same.
    const double little = each < kIdle * budget() ? 2 * kIdle * budget() : 0;
    const double room = std::min(std::max(measurement.idle, little), budget() - measurement.cores);
    const double all = measurement.cores + room;
    if (over(measurement)) return std::clamp(filling(all), 1, processes());
    if (measurement.waited <= kWaits || room <= kIdle * budget()) return processes();
    if (!memory_.jumped) return std::max(processes() + 1, filling(all));
    // How many of them are awake at a time varies, as a binomial distribution says: cores are idle at times where they
    // are enough on average.
    const double deviation = std::sqrt(all * std::max(0.0, 1 - each));
    return processes() + std::clamp(filling(all + deviation) - processes(), 1, std::max(1, processes() / 2));
  }

  std::int32_t consider() {
    const Measurement measurement = memory_.measurements.mean();
    const std::int32_t most = std::max(processes(), state_.limits[KnobId::kProcesses].high);
    const std::int32_t target = std::min(wanted(measurement), most);
    if (target < processes()) {
      memory_.measured_before.clear();
      return leave_for(target, measurement, "more processes than the cores are enough for");
    }
    if (target == processes() || cooling() || seen_.turn != Turn::kOpen) return processes();
    memory_.trying = true;
    state_.trying = Trying::kTries;
    memory_.before = processes();
    memory_.aimed = target;
    memory_.measured_before = memory_.measurements;
    const bool jump = !std::exchange(memory_.jumped, true);
    return leave_for(
        target, measurement,
        jump ? "as many as fill the cores, for which the consumer waits" : "the consumer waits and cores are idle");
  }

  std::int32_t judge() {
    const Measurement measurement = memory_.measurements.mean();
    const Gain gain = gain_of(memory_.measured_before, memory_.measurements, least_gain_);
    const std::int32_t fitting = wanted(measurement);
    const bool within = fitting >= processes();
    if (gain == Gain::kUnknown && within) return processes();
    end_trial(gain == Gain::kSome);
    if (!within || gain == Gain::kSome) memory_.measured_before.clear();
    if (!within) {
      return leave_for(std::max(memory_.before, fitting), measurement, "more processes than the cores are enough for");
    }
    if (gain == Gain::kSome) return processes();
    return leave_for(memory_.before, measurement, "more processes gain nothing");
  }

  void end_trial(bool gained) {
    memory_.trying = false;
    memory_.failed = gained ? 0 : std::min(memory_.failed + 1, kMostFailures);
    if (!gained) memory_.cool_until_ns = seen_.time_ns + (cool_down_ns_ << (memory_.failed - 1));
  }

  std::int32_t leave_for(std::int32_t target, const Measurement& measurement, const char* why) {
    state_.say("%s: %.2f of %.2f cores, %.0f %% waited, %.1f/s", why, measurement.cores, budget(),
               100 * measurement.waited, measurement.rate);
    memory_.measurements.clear();
    memory_.unsettled_ns = seen_.time_ns;
    return target;
  }

  const Observation& seen_;
  PolicyState& state_;
  const double least_gain_;
  const std::uint64_t cool_down_ns_;
  TrialsState memory_;
};

}  // namespace

bool Trials::knows(const PolicyState& state) const noexcept {
  if (!state.is_bool(offsetof(TrialsState, begun)) || !state.is_bool(offsetof(TrialsState, jumped)) ||
      !state.is_bool(offsetof(TrialsState, trying))) {
    return false;
  }
  const auto memory = state.load<TrialsState>();
  return memory.measurements.plausible() && memory.measured_before.plausible() && memory.failed <= kMostFailures &&
         memory.anew <= kMostFailures && std::isfinite(memory.cpus);
}

Settings Trials::decide(const Observation& observation, PolicyState& state) const {
  return observation.settings[KnobId::kProcesses] == 0
             ? observation.settings
             : TrialsDecider(observation, state, gain_, cool_down_ns_).decide();
}

}  // namespace drapps
