#include "drapps/storage/emulation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
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

/// The most bytes that any window of `length` has.
std::uint64_t most_in(std::vector<Delivery> deliveries, std::uint64_t length) {
  std::ranges::sort(deliveries, {}, &Delivery::at);
  std::uint64_t most = 0, sum = 0;
  std::size_t first = 0;
  for (const Delivery& each : deliveries) {
    sum += each.bytes;
    while (deliveries[first].at + length < each.at) sum -= deliveries[first++].bytes;
    most = std::max(most, sum);
  }
  return most;
}

TEST(Emulation, ReadsTakeTheirLatencyAndWhatTheirConnectionCarries) {
  Bench bench(constant({.connection_bandwidth = 16e6, .latency = 0.02}));
  EXPECT_EQ(bench.emulation.end_of(0, bench.begun), bench.begun + 20 * kMs);
  EXPECT_EQ(bench.emulation.end_of(160'000, bench.begun), bench.begun + 30 * kMs);
  EXPECT_EQ(bench.emulation.end_of(160'000, bench.begun), bench.begun + 30 * kMs) << "another connection";
}

TEST(Emulation, LatenciesAreLogNormalByTheirMedian) {
  Bench bench(constant({.latency = 0.01, .latency_spread = 0.5}));
  std::vector<std::uint64_t> took;
  for (int i = 0; i < 4001; ++i) took.push_back(bench.emulation.end_of(1, bench.begun) - bench.begun);
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
    deliveries.push_back({bench.emulation.end_of(bytes, asked), bytes});
  }
  const double burst = 0.02 * 10e6;
  for (const std::uint64_t length : {kMs, 50 * kMs, kSecond}) {
    EXPECT_LE(static_cast<double>(most_in(deliveries, length)), 10e6 * static_cast<double>(length) * 1e-9 + burst);
  }
  std::uint64_t all = 0;
  for (const Delivery& each : deliveries) all += each.bytes;
  const std::uint64_t last = std::ranges::max(deliveries, {}, &Delivery::at).at;
  EXPECT_NEAR(static_cast<double>(all) / (static_cast<double>(last - bench.begun) * 1e-9), 10e6, 0.1e6);
}

TEST(Emulation, ProcessesDrawOnOneBandwidthAndOneThatIsKilledTakesNothingAway) {
  auto spec = constant({.bandwidth = 50e6});
  auto emulation = *Emulation::make(spec);
  const std::uint64_t begun = monotonic_ns();
  int pipes[2];
  ASSERT_EQ(::pipe(pipes), 0);
  std::vector<pid_t> children;
  for (int child = 0; child < 4; ++child) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      auto mine = *Emulation::attach(spec, emulation.fd());
      for (int i = 0; i < 500; ++i) {
        const Delivery each{mine.end_of(40'000, monotonic_ns()), 40'000};
        if (::write(pipes[1], &each, sizeof each) != sizeof each) _exit(1);
        if (child == 3 && i == 100) ::kill(::getpid(), SIGKILL);
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
  ASSERT_EQ(deliveries.size(), 3u * 500 + 101);
  for (const std::uint64_t length : {10 * kMs, 200 * kMs}) {
    EXPECT_LE(static_cast<double>(most_in(deliveries, length)), 50e6 * static_cast<double>(length) * 1e-9 + 1e6);
  }
  const std::uint64_t last = std::ranges::max(deliveries, {}, &Delivery::at).at;
  const double seconds = static_cast<double>(last - begun) * 1e-9;
  EXPECT_NEAR(static_cast<double>(deliveries.size()) * 40'000 / seconds, 50e6, 2e6);
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
    EXPECT_EQ(bench.emulation.end_of(1, at(round + 2.1)), at(round + 2.1) + kSecond / 2);
    const std::uint64_t behind = bench.emulation.end_of(1, at(round + 2.7));
    EXPECT_NEAR(static_cast<double>(behind - bench.begun) * 1e-9, round + 4, 0.01) << "the stall is over then";
  }
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
