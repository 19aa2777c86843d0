#include "drapps/pipeline/sample_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "drapps/modality/test_pictures.h"
#include "drapps/pipeline/test_pass.h"
#include "drapps/source/encoded.h"
#include "drapps/storage/emulated_storage.h"
#include "drapps/storage/testing.h"

namespace drapps {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

SampleTimes taking(std::uint64_t ns, std::uint64_t record = 0) {
  SampleTimes sample{.record = record};
  sample.wall_ns[lane_place(LaneRole::kPrepare)] = ns;
  return sample;
}

std::vector<std::uint64_t> slowest_of(const SampleLog& log) {
  std::vector<std::uint64_t> times;
  for (const SampleTimes& each : log.slowest()) times.push_back(each.service_ns());
  return times;
}

TEST(SampleLog, KeepsTheSlowestAndWantsNoOther) {
  SampleLog log;
  EXPECT_TRUE(log.wants(1));
  for (std::uint64_t i = 0; i < 1000; ++i) log.add(taking(1 + i * 7 % 1000, i));
  EXPECT_THAT(slowest_of(log), ElementsAre(1000, 999, 998, 997, 996, 995, 994, 993));
  EXPECT_EQ(log.slowest()[0].record * 7 % 1000, 999u);
  EXPECT_FALSE(log.wants(993));
  EXPECT_TRUE(log.wants(994));
  EXPECT_EQ(log.take().added(), 0u);
}

TEST(SampleLog, MergingLosesNoneOfTheSlowest) {
  SampleLog all;
  for (std::uint64_t pass = 0; pass < 5; ++pass) {
    SampleLog log;
    for (std::uint64_t i = 0; i < 10; ++i) log.add(taking(100 * i + pass + 1));
    all.merge(log);
    EXPECT_EQ(log.slowest().size(), SampleLog::kSlowest);
  }
  EXPECT_THAT(slowest_of(all), ElementsAre(905, 904, 903, 902, 901, 805, 804, 803));
}

TEST(SampleLog, ARunOfRowsIsAsSlowAsARowOfIt) {
  SampleLog log;
  SampleTimes run = taking(1000);
  run.rows = 100;
  log.add(run);
  log.add(taking(11));
  EXPECT_THAT(slowest_of(log), ElementsAre(11, 10));
}

TEST(SampleLog, AReservoirIsKeptWhileItIsSwitchedOn) {
  SampleLog log;
  log.sample(4);
  for (std::uint64_t i = 0; i < 8; ++i) log.add(taking(10, i));
  EXPECT_TRUE(log.wants(1));
  for (std::uint64_t i = 0; i < 92; ++i) log.add(taking(1, 100 + i));
  const SampleReservoir taken = log.take();
  EXPECT_EQ(taken.added(), 100u);
  EXPECT_EQ(taken.kept().size(), 4u);
  EXPECT_EQ(taken.weight(), 25);
  std::set<std::uint64_t> records;
  for (const SampleTimes& each : taken.kept()) records.insert(each.record);
  EXPECT_EQ(records.size(), 4u);

  log.add(taking(1, 3));
  const SampleReservoir next = log.take();
  EXPECT_EQ(next.kept().size(), 1u);
  EXPECT_EQ(next.kept()[0].record, 3u);
  EXPECT_EQ(next.weight(), 1);
  EXPECT_EQ(log.take().weight(), 0);
  log.sample(0);
  EXPECT_FALSE(log.wants(1));
  log.sample(1000);
  EXPECT_EQ(log.take().room(), SampleReservoir::kMost);
}

/// Σ (seen - expected)² / expected over `seen`, each of which is expected alike.
double chi_squared(const std::vector<int>& seen) {
  double expected = 0;
  for (const int each : seen) expected += each / static_cast<double>(seen.size());
  double sum = 0;
  for (const int each : seen) sum += (each - expected) * (each - expected) / expected;
  return sum;
}

// 99.99 % of all chi-squared values with 99 degrees of freedom are below this.
constexpr double kRareChiSquared = 161.3;

TEST(SampleReservoir, EverySampleHasTheSameChance) {
  std::vector<int> seen(100);
  SampleReservoir reservoir(10);
  for (int round = 0; round < 5000; ++round) {
    for (std::uint64_t i = 0; i < seen.size(); ++i) reservoir.add(taking(1, i));
    for (const SampleTimes& each : reservoir.kept()) ++seen[each.record];
    reservoir.clear();
  }
  EXPECT_LT(chi_squared(seen), kRareChiSquared);
}

TEST(SampleReservoir, SoItHasOfMergedOnes) {
  std::vector<int> seen(100);
  SampleReservoir one(10);
  SampleReservoir two(10);
  SampleReservoir few(10);
  for (int round = 0; round < 5000; ++round) {
    for (std::uint64_t i = 0; i < 70; ++i) one.add(taking(1, i));
    for (std::uint64_t i = 70; i < 96; ++i) two.add(taking(1, i));
    for (std::uint64_t i = 96; i < 100; ++i) few.add(taking(1, i));
    few.merge(one);
    few.merge(two);
    ASSERT_EQ(few.added(), 100u);
    std::set<std::uint64_t> records;
    for (const SampleTimes& each : few.kept()) {
      ++seen[each.record];
      records.insert(each.record);
    }
    ASSERT_EQ(records.size(), 10u);
    for (SampleReservoir* each : {&one, &two, &few}) each->clear();
  }
  EXPECT_LT(chi_squared(seen), kRareChiSquared);
}

TEST(SampleLog, ManyThreadsAddToIt) {
  constexpr std::uint64_t kEach = 5000;
  SampleLog log;
  SampleLog all;
  log.sample(32);
  std::uint64_t taken = 0;
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&log, thread] {
        for (std::uint64_t i = 0; i < kEach; ++i) {
          if (log.wants(i + 1)) log.add(taking(i + 1, thread));
        }
      });
    }
    for (int look = 0; look < 100; ++look) {
      taken += log.take().added();
      all.merge(log);
    }
  }
  EXPECT_EQ(taken + log.take().added(), 4 * kEach);
  all.merge(log);
  EXPECT_EQ(slowest_of(log), (std::vector<std::uint64_t>{5000, 5000, 5000, 5000, 4999, 4999, 4999, 4999}));
}

class LoggedPass : public testing::Test {
 protected:
  static constexpr std::uint32_t kLogged = 12;

  LoggedPass() {
    PathList paths;
    for (std::uint32_t i = 0; i < kLogged; ++i) {
      const auto png = testing_pictures::png(20, 24, i);
      folder_.put(std::to_string(i) + ".png", {png.begin(), png.end()});
      EXPECT_TRUE(paths.append(folder_.path(std::to_string(i) + ".png")).ok());
      bytes_.push_back(png.size());
    }
    source_ = *FileSource::make(std::move(paths));
  }
  std::shared_ptr<const Plan> plan() const {
    return *Plan::make(*parse_spec(R"({"ops":[{"op":"resize","height":16,"width":16}],"sampler":{"batch":4}})"),
                       *source_);
  }

  Folder folder_;
  Engine engine_;
  std::shared_ptr<Source> source_;
  std::vector<std::uint64_t> bytes_;
};

TEST_F(LoggedPass, TheStageThatWasSlowIsNamed) {
  source_->set_storage(
      std::make_shared<EmulatedStorage>(*Emulation::make({.schedule = {{0, {.latency = 0.2}}}}), RetryOptions{}));
  const auto runner = test_pass::start(engine_, plan(), source_);
  EXPECT_EQ(test_pass::drain(*runner, "image").size(), kLogged / 4);
  const std::vector<SampleTimes> slowest = runner->metrics().log.slowest();
  ASSERT_EQ(slowest.size(), SampleLog::kSlowest);
  for (const SampleTimes& each : slowest) {
    EXPECT_GE(each.wall_ns[lane_place(LaneRole::kFetch)], 200'000'000u);
    EXPECT_GT(each.wall_ns[lane_place(LaneRole::kPrepare)], 0u);
    ASSERT_LT(each.record, kLogged);
    EXPECT_EQ(each.bytes, bytes_[each.record]);
    EXPECT_EQ(each.record, each.position);  // of an order that is not shuffled
    EXPECT_EQ(each.known, Learned::kNothing);
  }
}

TEST_F(LoggedPass, TheLanesOfASplitPlanAreToldApart) {
  const auto runner = test_pass::start(engine_, plan(), source_, false);
  EXPECT_EQ(test_pass::drain(*runner, "image").size(), kLogged / 4);
  for (const SampleTimes& each : runner->metrics().log.slowest()) {
    for (const LaneRole role : {LaneRole::kFetch, LaneRole::kDecode, LaneRole::kAugment, LaneRole::kCollate}) {
      EXPECT_GT(each.wall_ns[lane_place(role)], 0u);
    }
    EXPECT_EQ(each.wall_ns[lane_place(LaneRole::kPrepare)], 0u);
    EXPECT_GT(each.cpu_ns, 0u);
  }
}

}  // namespace
}  // namespace drapps
