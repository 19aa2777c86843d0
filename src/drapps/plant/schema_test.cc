#include "drapps/plant/schema.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace drapps {
namespace {

Settings sample_settings() {
  Settings settings{{6, 16, 4, 0, 0}, {}};
  settings.lane_weights[lane_place(LaneRole::kDecode)] = 11;
  settings.lane_weights[lane_place(LaneRole::kAugment)] = 5;
  return settings;
}

TEST(Schema, TextListsEveryKnobAndLane) {
  const std::string text = schema_text();
  for (const Knob& knob : knob_table()) EXPECT_NE(text.find("knob " + std::string(knob.name)), std::string::npos);
  for (const Lane& lane : kLanes) EXPECT_NE(text.find("lane " + std::string(lane.name) + ": "), std::string::npos);
  EXPECT_NE(text.find("lane decode: decode on cpu\n"), std::string::npos);
  EXPECT_NE(text.find("lane decode@cuda: decode on cuda\n"), std::string::npos);
}

TEST(Schema, SettingsSurviveJson) {
  const auto back =
      settings_from_json(nlohmann::json::parse(settings_to_json(sample_settings(), kThreadKnobs).dump()), kThreadKnobs);
  ASSERT_TRUE(back.ok()) << back.error().to_string();
  EXPECT_EQ(*back, sample_settings());
}

TEST(Schema, OtherSchemaIsRefused) {
  auto json = settings_to_json(sample_settings(), kThreadKnobs);
  json["schema"] = "0000000000000000";
  EXPECT_FALSE(settings_from_json(json, kThreadKnobs).ok());
  EXPECT_FALSE(settings_from_json(nlohmann::json::parse("[1, 2]"), kThreadKnobs).ok());
  EXPECT_FALSE(settings_from_json(nlohmann::json(), kThreadKnobs).ok());
}

TEST(Schema, SettingsOfAnotherKindOfLoaderAreRefused) {
  Settings settings;
  settings[KnobId::kProcesses] = 7;
  const auto json = settings_to_json(settings, kProcessKnobs);
  EXPECT_EQ(json["knobs"].dump(), R"({"processes":7})");
  EXPECT_EQ(*settings_from_json(json, kProcessKnobs), settings);
  const auto refused = settings_from_json(json, kThreadKnobs);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("the knob processes, which this loader has not"), std::string::npos);
  EXPECT_FALSE(settings_from_json(settings_to_json(sample_settings(), kThreadKnobs), kProcessKnobs).ok());
}

TEST(Schema, BadValuesAreRefused) {
  for (const char* value : {"null", "1.5", "\"4\"", "3000000000", "99999999999999999999", "18446744073709551615"}) {
    auto json = settings_to_json(sample_settings(), kThreadKnobs);
    json["knobs"]["workers"] = nlohmann::json::parse(value);
    EXPECT_FALSE(settings_from_json(json, kThreadKnobs).ok()) << value;
  }
  auto json = settings_to_json(sample_settings(), kThreadKnobs);
  json["knobs"]["wrokers"] = 4;
  EXPECT_FALSE(settings_from_json(json, kThreadKnobs).ok());
  json = settings_to_json(sample_settings(), kThreadKnobs);
  json["lane_weights"]["decoed"] = 4;
  EXPECT_FALSE(settings_from_json(json, kThreadKnobs).ok());
}

}  // namespace
}  // namespace drapps
