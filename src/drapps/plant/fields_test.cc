#include "drapps/plant/fields.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>

namespace drapps {
namespace {

TEST(Fields, EveryNumberHasANameOfItsOwnAndASource) {
  ASSERT_EQ(observation_fields().size(), kObservationFields);
  std::set<std::string> names;
  for (const FieldDescription& field : observation_fields()) {
    EXPECT_TRUE(names.insert(field.name).second) << field.name;
    EXPECT_FALSE(field.info.number.source.empty()) << field.name;
  }
  EXPECT_TRUE(names.contains("consumer.step.p99"));
  EXPECT_TRUE(names.contains("decode.service_cpu.sum"));
}

TEST(Fields, WordsAndBackIsTheSame) {
  Observation seen;
  std::uint64_t number = 1;
  visit_fields(seen,
               [&]<class T>(const FieldName&, const FieldInfo&, T& value) { value = static_cast<T>(number++ % 3); });
  seen.process_cpu_seconds = 0.1;
  seen.settings[KnobId::kWorkers] = -7;
  const ObservationWords words = words_of(seen);
  EXPECT_EQ(words_of(observation_of(words)), words);
  EXPECT_EQ(observation_of(words).settings, seen.settings);
  EXPECT_EQ(observation_of(words).process_cpu_seconds, 0.1);
}

TEST(Fields, ForeignWordsAreCut) {
  ObservationWords words;
  words.fill(std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(observation_of(words).turn, Turn::kOpen);
  EXPECT_EQ(observation_of(words).settings[KnobId::kWorkers], -1);
}

}  // namespace
}  // namespace drapps
