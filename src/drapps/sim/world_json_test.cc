#include "drapps/sim/world_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "drapps/sim/random_worlds.h"

namespace drapps::sim {
namespace {

using nlohmann::json;

std::string refusal(const char* text) {
  const auto read = scenario_from_json(json::parse(text));
  return read.ok() ? "" : read.error().message;
}

TEST(WorldJson, WorldsSurviveIt) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Draws draws({.seed = seed}, 1);
    const json text = world_to_json(random_world(draws));
    const auto back = world_from_json(json::parse(text.dump()));
    ASSERT_TRUE(back.ok()) << back.error().message;
    EXPECT_EQ(world_to_json(*back), text);
  }
}

TEST(WorldJson, WhatIsLeftOutIsAsAWorldBegins) {
  const auto read = world_from_json(json::parse(R"({"cores": {"count": 7}})"));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->machine.cores.count, 7);
  EXPECT_EQ(read->workload.batch, World{}.workload.batch);
}

TEST(WorldJson, WhatIsWrongIsNamed) {
  EXPECT_EQ(refusal(R"({"segments": [{"world": {"core": {}}}]})"), "a world has no core");
  EXPECT_EQ(refusal(R"({"segments": [{"world": {"cores": {"number": 2}}}]})"), "cores of a world has no number");
  EXPECT_EQ(refusal(R"({"segments": [{"world": {"cores": 2}}]})"), "cores of a world must be an object of numbers");
  EXPECT_NE(refusal(R"({"segments": [{"world": {"cores": {"count": -1}}}]})").find("cores.count"), std::string::npos);
  EXPECT_NE(refusal(R"({"segments": [{"world": {"cores": {"count": "2"}}}]})").find("cores.count"), std::string::npos);
  EXPECT_NE(refusal(R"({"segments": []})").find("segments"), std::string::npos);
  EXPECT_NE(refusal("[]").find("segments"), std::string::npos);
  EXPECT_NE(refusal(R"({"segments": [{"begin": 1, "world": {}}]})").find("begin at 0"), std::string::npos);
  EXPECT_NE(refusal(R"({"segments": [{"world": {}}, {"begin": 0, "world": {}}]})").find("later"), std::string::npos);
  EXPECT_NE(refusal(R"({"seconds": -1, "segments": [{"world": {}}]})").find("seconds"), std::string::npos);
}

}  // namespace
}  // namespace drapps::sim
