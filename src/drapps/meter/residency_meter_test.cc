#include "drapps/meter/residency_meter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "drapps/meter/residency_files_test.h"

namespace drapps {
namespace {

constexpr std::uint64_t kResidencySecond = 1'000'000'000;

class ResidencyMeterTest : public ResidencyTest {
 protected:
  void SetUp() override {
    ResidencyTest::SetUp();
    if (IsSkipped()) return;
    for (int i = 0; i < 10; ++i) paths.push_back(put(std::to_string(i), kMebibyte));
  }
  ResidencyMeter meter() {
    return {paths.size(), [this](std::uint64_t index) {
              asked.push_back(index);
              return paths[index];
            }};
  }
  /// Reads once a second.
  Reading read(ResidencyMeter& meter, int seconds) {
    Reading last;
    for (int i = 0; i < seconds; ++i) last = meter.read(now_ns += kResidencySecond).resident;
    return last;
  }
  std::vector<std::string> paths;
  std::vector<std::uint64_t> asked;
  std::uint64_t now_ns = 1000 * kResidencySecond;
};

TEST_F(ResidencyMeterTest, LooksAtSixtyFourFilesAMinute) {
  ResidencyMeter meter = this->meter();
  for (int second = 0; second < 120; ++second) {
    const std::size_t before = asked.size();
    read(meter, 1);
    EXPECT_LE(asked.size(), before + 4);
  }
  EXPECT_NEAR(static_cast<double>(asked.size()), 2 * 64 + 3, 2);
  asked.clear();
  for (int i = 0; i < 100; ++i) meter.read(now_ns);  // no time has passed
  EXPECT_TRUE(asked.empty());
  now_ns += 600 * kResidencySecond;
  read(meter, 1);
  EXPECT_EQ(asked.size(), 4u);
  read(meter, 1);
  EXPECT_LE(asked.size(), 6u);  // what was missed is not made up for
}

TEST_F(ResidencyMeterTest, GivesTheShareOfTheBytes) {
  ResidencyMeter meter = this->meter();
  EXPECT_FALSE(read(meter, 1).valid);  // too few
  Reading resident = read(meter, 60);
  EXPECT_TRUE(resident.valid);
  EXPECT_EQ(resident.value, 1);
  EXPECT_EQ(resident.time_ns, now_ns);
  for (const std::string& path : paths) drop(path);
  EXPECT_LT(read(meter, 10).value, 1);
  EXPECT_EQ(read(meter, 60).value, 0);
  // One file that is thrice as large as the nine others together.
  put("0", 27 * kMebibyte);
  read(meter, 120);
  const double share = read(meter, 1).value;
  std::uint64_t large = 0;
  for (std::size_t i = asked.size() - 64; i < asked.size(); ++i) large += asked[i] == 0 ? 1 : 0;
  EXPECT_DOUBLE_EQ(share, static_cast<double>(27 * large) / static_cast<double>(27 * large + (64 - large)));
}

TEST_F(ResidencyMeterTest, DrawsTheSameFilesFromTheSameSeed) {
  ResidencyMeter first = meter();
  read(first, 60);
  const std::vector<std::uint64_t> drawn = std::exchange(asked, {});
  ResidencyMeter second = meter();
  read(second, 60);
  EXPECT_EQ(asked, drawn);
  for (std::uint64_t index = 0; index < paths.size(); ++index) {
    EXPECT_NE(std::find(drawn.begin(), drawn.end(), index), drawn.end()) << index;
  }
  asked.clear();
  ResidencyMeter other(paths.size(), [this](std::uint64_t index) { return asked.push_back(index), paths[index]; }, 1);
  read(other, 60);
  EXPECT_NE(asked, drawn);
}

TEST_F(ResidencyMeterTest, LeavesFilesOutThatAreNotThere) {
  ResidencyMeter meter = this->meter();
  for (std::size_t i = 1; i < paths.size(); i += 2) tree.remove("/" + std::to_string(i));
  paths[0].clear();  // nor has this one a path
  EXPECT_EQ(read(meter, 120).value, 1);
  EXPECT_TRUE(read(meter, 1).valid);
  for (std::size_t i = 0; i < paths.size(); ++i) tree.remove("/" + std::to_string(i));
  EXPECT_FALSE(read(meter, 180).valid);
}

TEST_F(ResidencyMeterTest, IsInvalidWhereItIsNotToldOfSome) {
  for (std::size_t i = 0; i < 3; ++i) paths[i] = std::string(5000, 'x');  // no file has such a name
  ResidencyMeter meter = this->meter();
  EXPECT_FALSE(read(meter, 120).valid);
}

TEST_F(ResidencyMeterTest, LooksOnceAMinuteWhereItIsToldOfNone) {
  for (std::string& path : paths) path = std::string(5000, 'x');
  ResidencyMeter meter = this->meter();
  read(meter, 100);
  asked.clear();
  EXPECT_FALSE(read(meter, 600).valid);
  EXPECT_EQ(asked.size(), 10u);
  for (std::size_t i = 0; i < paths.size(); ++i) paths[i] = tree.root() + "/" + std::to_string(i);
  EXPECT_TRUE(read(meter, 180).valid);
}

TEST_F(ResidencyMeterTest, ForgetsWhatItSawTwoMinutesAgo) {
  ResidencyMeter meter = this->meter();
  EXPECT_TRUE(read(meter, 60).valid);
  now_ns += 180 * kResidencySecond;
  EXPECT_FALSE(read(meter, 1).valid);  // four looks
}

TEST(ResidencyMeter, OfNoFilesIsInvalid) {
  ResidencyMeter meter(0, [](std::uint64_t) -> std::string { throw std::logic_error("there is no such file"); });
  EXPECT_FALSE(meter.read(kResidencySecond).resident.valid);
}

}  // namespace
}  // namespace drapps
