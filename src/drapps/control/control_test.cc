#include "drapps/control/control.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "drapps/control/fake_plant_test.h"
#include "drapps/policy/policies_test.h"

namespace drapps {
namespace {

int decisions_of(const Control& control) { return control.log()["totals"]["decisions"]; }

/// Steps of training, after which a decision is due.
void tick_after_steps(const Control& control, FakePlant& plant) {
  plant.run(10, 100);
  control.client()->tick(plant.clock());
}

TEST(Control, GoesOnWithoutAPlantUntilItBegins) {
  register_test_policies();
  Control control({.name = "initial"});
  EXPECT_EQ(control.client(), nullptr);
  EXPECT_EQ(decisions_of(control), 0);
  EXPECT_TRUE(control.set_policy({.name = "random"}).ok());
  EXPECT_EQ(control.set_policy({.name = "dice"}).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(control.log()["policy"], "random");
  control.freeze(true);
  const auto plant = std::make_shared<FakePlant>();
  control.begin(plant);
  tick_after_steps(control, *plant);
  EXPECT_EQ(control.log()["status"], "frozen");
  EXPECT_EQ(plant->applied, 0);
}

TEST(Control, SamplesAreKeptWhileSomethingIsRecorded) {
  const std::string path = testing::TempDir() + "control_test." + std::to_string(getpid());
  Control control({.name = "initial"});
  std::vector<bool> kept;
  control.begin(std::make_shared<FakePlant>(), {.keep = [&](bool on) { kept.push_back(on); }, .take = {}});
  ASSERT_TRUE(control.record(path, "{}").ok());
  EXPECT_FALSE(control.record(path + ".more", "{}").ok()) << "a recording is under way";
  control.stop_recording();
  EXPECT_EQ(kept, (std::vector{true, false}));
  EXPECT_EQ(control.take_warning(), "");
  EXPECT_TRUE(std::filesystem::remove(path));
}

TEST(Control, AChildOfForkGoesOnWithThePolicyAlone) {
  register_test_policies();
  Control control({.name = "initial"});
  const auto plant = std::make_shared<FakePlant>();
  control.begin(plant);
  ASSERT_TRUE(control.set_policy({.name = "random"}).ok());
  tick_after_steps(control, *plant);
  ASSERT_GT(decisions_of(control), 0);
  const pid_t child = fork();
  if (child == 0) {
    const bool blank = control.client() == nullptr && decisions_of(control) == 0;
    control.freeze(false);
    control.stop_recording();
    const auto own = std::make_shared<FakePlant>();
    control.begin(own);
    tick_after_steps(control, *own);
    _exit(blank && control.log()["policy"] == "random" && decisions_of(control) > 0 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace drapps
