#include "drapps/exec/cpu_sampler.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <thread>

namespace drapps {
namespace {

/// A piece that computes for so long, by the thread's CPU time, and sleeps for so long; what the sampler says of it.
std::uint64_t sampled_piece(CpuSampler& sampler, std::uint64_t compute_ns, std::chrono::nanoseconds sleep = {}) {
  const std::uint64_t began = monotonic_ns();
  const std::uint64_t begun = sampler.begin();
  for (const std::uint64_t until = thread_cpu_ns() + compute_ns; thread_cpu_ns() < until;) {
  }
  if (sleep.count() > 0) std::this_thread::sleep_for(sleep);
  return sampler.end(CpuSampler::spent(begun), monotonic_ns() - began);
}

/// How many of so many pieces, each of which takes `wall_ns`, are measured.
int measured(int pieces, std::uint64_t wall_ns) {
  CpuSampler sampler;
  int count = 0;
  for (int i = 0; i < pieces; ++i) {
    const std::uint64_t begun = sampler.begin();
    count += begun != CpuSampler::kNotRead ? 1 : 0;
    sampler.end(CpuSampler::spent(begun), wall_ns);
  }
  return count;
}

TEST(CpuSampler, MeasuresOneShortPieceInEight) { EXPECT_EQ(measured(64, CpuSampler::kApartNs / 8), 8); }

TEST(CpuSampler, MeasuresOnePieceInSomeTimeOfThem) { EXPECT_EQ(measured(400, CpuSampler::kApartNs / 100), 4); }

TEST(CpuSampler, MeasuresEveryLongPieceButTheFirst) {
  CpuSampler sampler;
  for (int i = 0; i < 10; ++i) {
    const std::uint64_t begun = sampler.begin();
    EXPECT_EQ(begun != CpuSampler::kNotRead, i != 1) << i;  // the first one was short, and measured
    sampler.end(CpuSampler::spent(begun), i == 0 ? 1000 : CpuSampler::kLongNs);
  }
}

TEST(CpuSampler, SumsAreThoseOfTheClock) {
  CpuSampler sampler;
  const std::uint64_t before = thread_cpu_ns();
  std::uint64_t sum = 0;
  double ratio = 0;
  // Of the few pieces that are measured some may lose their core: the more there are, the less that tells.
  for (int i = 1; i <= 80'000 && (i <= 4000 || std::abs(ratio - 1) > 0.25); ++i) {
    sum += sampled_piece(sampler, 50'000);
    ratio = static_cast<double>(sum) / static_cast<double>(thread_cpu_ns() - before);
  }
  EXPECT_NEAR(ratio, 1, 0.25);
}

TEST(CpuSampler, PiecesThatSleepAreNotTakenForWork) {
  CpuSampler sampler;
  const std::uint64_t began = monotonic_ns();
  std::uint64_t sum = 0;
  double share = 1;
  // 10 of some 600 µs are work; in one of the few pieces that are measured a busy machine may make it much more.
  for (int i = 1; i <= 10'000 && (i <= 100 || share > 0.4); ++i) {
    sum += sampled_piece(sampler, 10'000, std::chrono::microseconds(500));
    share = static_cast<double>(sum) / static_cast<double>(monotonic_ns() - began);
  }
  EXPECT_LT(share, 0.4);
}

TEST(CpuSampler, AnEstimateIsNoMoreThanTheTimeThatPassed) {
  CpuSampler sampler;
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t begun = sampler.begin();
    const std::uint64_t cpu = sampler.end(CpuSampler::spent(begun), 2000);
    if (begun == CpuSampler::kNotRead) {
      EXPECT_LE(cpu, 2000u);
    }
  }
}

}  // namespace
}  // namespace drapps
