#include "drapps/storage/emulation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <vector>

#include "drapps/base/clock.h"

namespace drapps {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kSecond = 1'000 * kMs;

EmulationSpec constant(const EmulatedConditions& conditions) { return {.schedule = {{0, conditions}}}; }

struct Bench {
  explicit Bench(EmulationSpec spec) : emulation(*Emulation::make(std::move(spec))), begun(monotonic_ns()) {}
  Emulation emulation;
  const std::uint64_t begun;
};

struct Delivery {
  std::uint64_t at;
  std::uint64_t bytes;
};

/// The bytes by which any window exceeds what a rate allows in its length, at most: the burst.
double most_beyond(std::vector<Delivery> deliveries, double bytes_per_second) {
  std::ranges::sort(deliveries, {}, &Delivery::at);
  double most = 0, sum = 0, least = 0;  // least: of what had come before a window, less what the rate allows till then
  for (const Delivery& each : deliveries) {
    const double allowed = bytes_per_second * static_cast<double>(each.at - deliveries.front().at) * 1e-9;
    least = std::min(least, sum - allowed);
    sum += static_cast<double>(each.bytes);
    most = std::max(most, sum - allowed - least);
  }
  return most;
}

/// The rate from `begun` to the last delivery; what a burst gives at once comes on top.
double rate_of(const std::vector<Delivery>& deliveries, std::uint64_t begun, double burst) {
  double sum = -burst;
  for (const Delivery& each : deliveries) sum += static_cast<double>(each.bytes);
  return sum / (static_cast<double>(std::ranges::max(deliveries, {}, &Delivery::at).at - begun) * 1e-9);
}

TEST(Emulation, ReadsTakeTheirLatencyAndWhatTheirConnectionCarries) {
  Bench bench(constant({.connection_bandwidth = 16e6, .latency = 0.02}));
  EXPECT_EQ(bench.emulation.end_of(0, bench.begun).at_ns, bench.begun + 20 * kMs);
  EXPECT_EQ(bench.emulation.end_of(160'000, bench.begun).at_ns, bench.begun + 30 * kMs);
  EXPECT_EQ(bench.emulation.end_of(160'000, bench.begun).at_ns, bench.begun + 30 * kMs) << "another connection";
}

TEST(Emulation, LatenciesAreLogNormalByTheirMedian) {
  Bench bench(constant({.latency = 0.01, .latency_spread = 0.5}));
  std::vector<std::uint64_t> took;
  took.reserve(4001);
  for (int i = 0; i < 4001; ++i) took.push_back(bench.emulation.end_of(1, bench.begun).at_ns - bench.begun);
  std::ranges::sort(took);
  EXPECT_NEAR(static_cast<double>(took[2000]), 10e6, 0.4e6);
  EXPECT_NEAR(static_cast<double>(took[3365]), 10e6 * 1.6487, 1.2e6);  // one deviation above: the 84.1 % quantile
}

TEST(Emulation, AllReadsTogetherKeepToTheBandwidth) {
  Bench bench(constant({.bandwidth = 10e6}));
  std::vector<Delivery> deliveries;
  for (int i = 0; i < 5000; ++i) {
    const std::uint64_t bytes = 1'000 + static_cast<std::uint64_t>(i) % 7 * 20'000;
    const std::uint64_t asked = bench.begun + static_cast<std::uint64_t>(i) * kMs / 20;
    deliveries.push_back({bench.emulation.end_of(bytes, asked).at_ns, bytes});
  }
  const double burst = 0.02 * 10e6;
  EXPECT_LE(most_beyond(deliveries, 10e6), burst * 1.001);
  EXPECT_NEAR(rate_of(deliveries, bench.begun, burst), 10e6, 0.1e6);
}

/// What four processes are given, which all ask `count` times. The last one is killed in between.
std::vector<Delivery> given_to_processes(Emulation& emulation, int count, int killed_at, std::uint64_t bytes,
                                         const std::function<std::uint64_t()>& now) {
  int pipes[2];
  EXPECT_EQ(::pipe(pipes), 0);
  std::vector<pid_t> children;
  for (int child = 0; child < 4; ++child) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      auto mine = *Emulation::attach(emulation.spec(), emulation.fd());
      for (int i = 0; i < count; ++i) {
        const Delivery each{mine.end_of(bytes, now()).at_ns, bytes};
        if (child == 3 && i == killed_at) ::kill(::getpid(), SIGKILL);  // what it has booked comes to nobody
        if (::write(pipes[1], &each, sizeof each) != sizeof each) _exit(1);
      }
      _exit(0);
    }
    children.push_back(pid);
  }
  ::close(pipes[1]);
  std::vector<Delivery> deliveries;
  for (Delivery each{}; ::read(pipes[0], &each, sizeof each) == sizeof each;) deliveries.push_back(each);
  ::close(pipes[0]);
  for (const pid_t pid : children) ::waitpid(pid, nullptr, 0);
  return deliveries;
}

TEST(Emulation, ProcessesDrawOnOneBandwidthAndOneThatIsKilledTakesNothingAway) {
  Bench bench(constant({.bandwidth = 50e6}));
  const auto deliveries = given_to_processes(bench.emulation, 500, 100, 40'000, monotonic_ns);
  ASSERT_EQ(deliveries.size(), 3u * 500 + 100);
  EXPECT_LE(most_beyond(deliveries, 50e6), 1e6 * 1.001);
}

TEST(Emulation, ProcessesThatWantMoreGetTheWholeBandwidth) {
  Bench bench(constant({.bandwidth = 50e6}));
  // As if nobody ever came late to ask.
  const auto deliveries = given_to_processes(bench.emulation, 500, 100, 40'000, [&] { return bench.begun; });
  ASSERT_EQ(deliveries.size(), 3u * 500 + 100);
  EXPECT_LE(most_beyond(deliveries, 50e6), 1e6 * 1.001);
  const double lost = 40'000;  // at most, of the one that was killed
  const double rate = rate_of(deliveries, bench.begun, 1e6);
  EXPECT_LE(rate, 50e6 * 1.0001);
  EXPECT_GE(rate, 50e6 * (1 - 2 * lost / (1600 * 40'000)));
}

TEST(Emulation, RequestsBeyondTheirRateAreRefused) {
  Bench bench(constant({.requests_per_second = 100}));
  int admitted = 0;
  for (std::uint64_t ms = 0; ms < 1000; ++ms) admitted += bench.emulation.admits(bench.begun + ms * kMs);
  EXPECT_GE(admitted, 100);
  EXPECT_LE(admitted, 103);
}

TEST(Emulation, ItsScheduleGivesOutagesAndBeginsAgain) {
  Bench bench(
      {.schedule = {{0, {.latency = 0.001}}, {1, {.refuses = true}}, {2, {.latency = 0.5}}, {3, {.stalls = true}}},
       .period = 4});
  const auto at = [&](double seconds) { return bench.begun + static_cast<std::uint64_t>(seconds * 1e9); };
  for (const double round : {0.0, 4.0, 40.0}) {
    EXPECT_TRUE(bench.emulation.admits(at(round + 0.5)));
    EXPECT_FALSE(bench.emulation.admits(at(round + 1.5)));
    EXPECT_EQ(bench.emulation.end_of(1, at(round + 2.1)).at_ns, at(round + 2.1) + kSecond / 2);
    const std::uint64_t behind = bench.emulation.end_of(1, at(round + 2.7)).at_ns;
    EXPECT_NEAR(static_cast<double>(behind - bench.begun) * 1e-9, round + 4, 0.01) << "the stall is over then";
  }
}

TEST(Emulation, WhoReadsGivesUpAReadThatStallsAndNoOther) {
  Bench bench({.schedule = {{0, {.bandwidth = 1e3, .latency = 0.1}}, {1, {.stalls = true}}, {3, {}}}});
  const auto at = [&](double seconds) { return bench.begun + static_cast<std::uint64_t>(seconds * 1e9); };
  const ReadEnd slow = bench.emulation.end_of(500, at(0), at(0.01));
  EXPECT_FALSE(slow.given_up) << "it goes on, however slowly";
  EXPECT_GT(slow.at_ns, at(0.01));
  const ReadEnd patient = bench.emulation.end_of(0, at(1.5), at(3.5));
  EXPECT_FALSE(patient.given_up);
  EXPECT_NEAR(static_cast<double>(patient.at_ns - bench.begun) * 1e-9, 3, 0.01);
  const ReadEnd given_up = bench.emulation.end_of(0, at(1.5), at(2.5));
  EXPECT_TRUE(given_up.given_up);
  EXPECT_EQ(given_up.at_ns, at(2.5));
  const ReadEnd late = bench.emulation.end_of(0, at(1.5), at(0.5));
  EXPECT_TRUE(late.given_up);
  EXPECT_EQ(late.at_ns, at(1.5)) << "not before it was asked for";
}

TEST(Emulation, WhatMakesNoSenseIsNamed) {
  const auto refusal = [](EmulationSpec spec) { return Emulation::make(std::move(spec)).error().message; };
  EXPECT_THAT(refusal({}), HasSubstr("begin at 0"));
  EXPECT_THAT(refusal({.schedule = {{1, {}}}}), HasSubstr("begin at 0"));
  EXPECT_THAT(refusal(constant({.bandwidth = -1})), HasSubstr("bandwidth, in entry 0"));
  EXPECT_THAT(refusal(constant({.latency = std::numeric_limits<double>::quiet_NaN()})), HasSubstr("latency"));
  EXPECT_THAT(refusal({.schedule = {{0, {}}, {2, {}}, {1, {}}}}), HasSubstr("order of time"));
  EXPECT_THAT(refusal({.schedule = {{0, {}}, {2, {}}}, .period = 1}), HasSubstr("period"));
  EXPECT_THAT(refusal(constant({.stalls = true})), HasSubstr("stall"));
  EXPECT_THAT(Emulation::attach(constant({}), 0).error().message, HasSubstr("no emulated storage"));
}

}  // namespace
}  // namespace drapps
