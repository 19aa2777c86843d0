#include "drapps/policy/config.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "drapps/plant/schema.h"

namespace drapps {
namespace {

PolicyConfig whole_config(std::size_t weight_bytes = 7) {
  PolicyConfig config{.name = "ppo",
                      .parameters = {{"gain", 0.25}, {"patience", 30}},
                      .pace = KnobClock{.period_ns = 250'000'000, .count = 8},
                      .schema = schema_hash()};
  for (std::size_t i = 0; i < weight_bytes; ++i) config.weights.push_back(static_cast<std::byte>(37 * i + 250));
  return config;
}

std::string refusal_of_text(const std::string& text) {
  const auto config = policy_config_from_json(nlohmann::json::parse(text, nullptr, false));
  if (config.ok()) return "read";
  EXPECT_EQ(config.error().code, ErrorCode::kInvalidArgument);
  return config.error().message;
}

TEST(PolicyConfig, SurvivesJson) {
  for (std::size_t bytes = 0; bytes < 300; ++bytes) {
    const PolicyConfig config = whole_config(bytes);
    const auto back = policy_config_from_json(nlohmann::json::parse(policy_config_to_json(config).dump()));
    ASSERT_TRUE(back.ok()) << back.error().message;
    ASSERT_EQ(*back, config) << bytes;
  }
  EXPECT_EQ(policy_config_to_json({}).dump(), R"({"name":"initial"})");
  EXPECT_EQ(*policy_config_from_json("trials"), PolicyConfig{.name = "trials"});
}

TEST(PolicyConfig, ReadsWhatIsWritten) {
  const auto config = policy_config_from_json(nlohmann::json::parse(
      R"({"name": "hill_climb", "every_batches": 8, "parameters": {"gain": 1}, "weights": "AP8=", "judge": true,
           "learn": true, "keep_in": "/cache"})"));
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(*config->pace, (KnobClock{.count = 8}));
  EXPECT_EQ(config->number({"gain", 0.5, 0, 1}), 1);
  EXPECT_EQ(config->number({"other", 0.5, 0, 1}), 0.5);
  EXPECT_EQ(config->weights, (std::vector{std::byte{0}, std::byte{255}}));
  EXPECT_TRUE(config->judge);
  EXPECT_TRUE(config->learn);
  EXPECT_EQ(config->keep_in, "/cache");
  EXPECT_EQ(*policy_config_from_json(policy_config_to_json(*config)), *config);
}

TEST(PolicyConfig, SaysWhatItDoesNotUnderstand) {
  EXPECT_EQ(
      refusal_of_text(R"({"name": "initial", "every_btches": 8})"),
      "a policy has no \"every_btches\"; it has name, parameters, every_ns, every_batches, judge, weights, schema, "
      "learn, keep_in");
  EXPECT_EQ(refusal_of_text(R"({"name": "mpc", "judge": 1})"), "judge of a policy must be true or false");
  EXPECT_EQ(refusal_of_text(R"({"name": "ppo", "learn": "yes"})"), "learn of a policy must be true or false");
  EXPECT_EQ(refusal_of_text(R"({"name": "ppo", "keep_in": 1})"), "keep_in of a policy must be a folder");
  EXPECT_EQ(refusal_of_text(R"({"name": "x", "parameters": {"gain": "much"}})"),
            "the parameter gain of policy x is not a number");
  for (const char* text : {"7", "null", "[]", "{}", R"({"name": 3})", R"({"name": "x", "parameters": [1]})", "{", ""}) {
    EXPECT_NE(refusal_of_text(text), "read") << text;
  }
  for (const char* pace : {"0", "-1", "1.5", "true", "\"8\"", "null", "3600000000001", "99999999999999999999"}) {
    for (const char* key : {"every_ns", "every_batches"}) {
      const std::string text = std::string(R"({"name": "x", ")") + key + "\": " + pace + "}";
      EXPECT_NE(refusal_of_text(text).find(key), std::string::npos) << text;
    }
  }
  for (const char* bad : {"1", "\"A\"", "\"AB==\"", "\"AP8\"", "\"A===\"", "\"====\"", "\"AP8=AP8=\"", "\"A P8\"",
                          "\"AP8=\\n\"", "\"AP8?\""}) {
    EXPECT_NE(refusal_of_text(std::string(R"({"name": "x", "weights": )") + bad + "}"), "read") << bad;
  }
  for (const char* bad : {"12", "\"12\"", "\"0x00000000000001\"", "\"853E926453899930\"", "\" 853e92645389993\""}) {
    EXPECT_NE(refusal_of_text(std::string(R"({"name": "x", "schema": )") + bad + "}"), "read") << bad;
  }
}

TEST(PolicyConfig, WeightsBeyondTheLimitAreRefusedUnread) {
  const std::string most(kMostWeightBytes / 3 * 4, 'A');
  EXPECT_EQ(refusal_of_text(R"({"name": "x", "weights": ")" + most + "\"}"), "read");
  EXPECT_NE(refusal_of_text(R"({"name": "x", "weights": ")" + most + std::string(8, 'A') + "\"}").find("at most"),
            std::string::npos);
}

TEST(PolicyConfig, AnyDamageIsRefusedOrAnotherConfig) {
  const std::string text = policy_config_to_json(whole_config()).dump();
  std::mt19937 random(7);
  int read = 0;
  for (int turn = 0; turn < 20'000; ++turn) {
    std::string damaged = text;
    for (auto changes = 1 + random() % 3; changes > 0; --changes) {
      const std::size_t at = random() % damaged.size();
      switch (random() % 3) {
        case 0: damaged[at] = static_cast<char>(random()); break;
        case 1: damaged.erase(at, 1 + random() % 4); break;
        default: damaged.insert(at, damaged, random() % damaged.size(), random() % 20);
      }
      if (damaged.empty()) break;
    }
    const auto config = policy_config_from_json(nlohmann::json::parse(damaged, nullptr, false));
    if (!config.ok()) continue;
    ++read;
    ASSERT_EQ(*policy_config_from_json(policy_config_to_json(*config)), *config) << damaged;
  }
  EXPECT_GT(read, 100);
}

}  // namespace
}  // namespace drapps
