#include "drapps/control/resources.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "drapps/plant/schema.h"

namespace drapps {
namespace {

using nlohmann::json;

/// Every option there is, none of them as where it is not given.
json all_options() {
  Settings settings;
  settings[KnobId::kWorkers] = 3;
  settings[KnobId::kDecodeOnGpu] = 5;
  return {{"policy", {{"name", "hill_climb"}, {"parameters", {{"gain", 0.25}}}}},
          {"cpu_budget", 1.5},
          {"ram_budget", 1'000'000},
          {"settings", settings_to_json(settings, kPlacedKnobs)},
          {"weights", "cap"},
          {"cache", 4096},
          {"form", "raw+lz4"},
          {"device", "cuda:1"},
          {"device_memory", 65536},
          {"placement", "auto"}};
}

TEST(Resources, StandInJsonAsTheyWereRead) {
  const json all = all_options();
  for (const std::string_view name : resource_names()) EXPECT_TRUE(all.contains(name)) << name;
  EXPECT_EQ(all.size(), resource_names().size());
  const auto read = parse_resources(all.dump());
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(resources_to_json(*read), all);
}

TEST(Resources, WhatIsNotGivenIsAsInTheDefault) {
  json nothing;
  for (const std::string_view name : resource_names()) nothing[name] = nullptr;
  const json written = resources_to_json(Resources{});
  EXPECT_EQ(resources_to_json(*parse_resources(nothing.dump())), written);
  EXPECT_EQ(resources_to_json(*parse_resources("{}")), written);
  EXPECT_EQ(resources_to_json(*parse_resources(written.dump())), written);
}

TEST(Resources, WhatIsKeptIsReadAsItWasWritten) {
  for (const char* text : {R"({"cache": "off"})", R"({"cache": 4096})", R"({"form": "index"})", R"({"form": "bytes"})",
                           R"({"form": "jpeg+index"})", R"({"cache": 4096, "form": "jpeg+index"})",
                           R"({"cache": 4096, "form": "index"})", R"({"cache": "auto", "form": "prepared"})"}) {
    const CacheOptions read = parse_resources(text)->cache;
    const CacheOptions again = parse_resources(resources_to_json({.cache = read}).dump())->cache;
    EXPECT_EQ(again.on, read.on) << text;
    EXPECT_EQ(again.budget, read.budget) << text;
    EXPECT_EQ(again.chosen, read.chosen) << text;
    EXPECT_EQ(again.index, read.index) << text;
    EXPECT_EQ(again.form, read.form) << text;
  }
}

TEST(Resources, SayWhatIsWrongWithThem) {
  EXPECT_TRUE(parse_resources(R"({"policy":null,"cpu_budget":1.5,"ram_budget":1000000,"settings":null})").ok());
  for (const char* bad :
       {"[]", R"({"policy":3})", R"({"cpu_budget":0})", R"({"cpu_budget":1e-9})", R"({"cpu_budget":1e9})",
        R"({"cpu_budget":"x"})", R"({"ram_budget":-5})", R"({"workers":3})", R"({"workers":null})",
        R"({"settings":{}})", R"({"device":1})", R"({"device_memory":5})", R"({"device":"cuda:0","device_memory":0})",
        R"({"placement":"gpu"})", R"({"placement":"tpu","device":"cuda:0"})", R"({"cache":0})", R"({"form":"lz5"})",
        R"({"cache":"off","form":"raw"})"}) {
    EXPECT_FALSE(parse_resources(bad).ok()) << bad;
  }
  const auto refused = parse_resources(R"({"weights": "most"})");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message, R"(weights="most" must be "share" or "cap")");
}

}  // namespace
}  // namespace drapps
