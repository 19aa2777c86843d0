#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "drapps/base/clock.h"
#include "drapps/base/full_testing.h"
#include "drapps/plant/schema.h"
#include "drapps/policy/trials.h"
#include "drapps/trace/run_test.h"

namespace drapps::trace {
namespace {

using testing::HasSubstr;

std::vector<std::int32_t> numbers_of(const Settings& settings) {
  std::vector<std::int32_t> numbers(settings.knobs.begin(), settings.knobs.end());
  numbers.insert(numbers.end(), settings.lane_weights.begin(), settings.lane_weights.end());
  return numbers;
}

std::vector<std::uint64_t> vector_of(const ObservationWords& words) { return {words.begin(), words.end()}; }

TEST(Trace, HoldsWhatWasRecorded) {
  const TemporaryFolder folder;
  RecordedRun run(std::make_unique<RandomWalk>(3), "\"random\"");
  auto writer = TraceWriter::open(folder.file(), R"({"plan": {"path": "native"}})");
  ASSERT_TRUE(writer.ok()) << writer.error().to_string();
  run.record(*writer);
  (*writer)->pass(4);
  for (int i = 0; i < 50; ++i) {
    if (i == 20) run.plant.limits[KnobId::kWorkers].high = 5;
    run.step(/*missing=*/i == 30);
  }
  (*writer)->frozen(true);
  (*writer)->frozen(false);
  run.swap(std::make_unique<Trials>(), "\"trials\"");
  (*writer)->stopped("the policy failed");
  EXPECT_FALSE((*writer)->ended());
  EXPECT_TRUE((*writer)->close().ok());
  EXPECT_TRUE((*writer)->ended());
  EXPECT_EQ((*writer)->take_warning(), "");

  auto reader = TraceReader::open(folder.file());
  ASSERT_TRUE(reader.ok()) << reader.error().to_string();
  EXPECT_EQ((*reader)->about(), R"({"plan": {"path": "native"}})");
  EXPECT_EQ((*reader)->header().fields.size(), kObservationFields);
  EXPECT_EQ((*reader)->header().fields[0].name, "time");
  EXPECT_GT((*reader)->header().wall_ns, 1'600'000'000'000'000'000u);
  const std::vector<Entry> entries = entries_of(**reader);
  EXPECT_EQ((*reader)->note(), "");

  const auto* began = std::get_if<Began>(&entries.front());
  ASSERT_NE(began, nullptr);
  EXPECT_EQ(began->policy, "random");
  EXPECT_EQ(began->config, "\"random\"");
  EXPECT_FALSE(began->frozen || began->stopped);
  EXPECT_EQ(began->limits.knobs[0], (Bounds{1, 8}));
  EXPECT_EQ(began->limits.cpus, 7.5);
  EXPECT_EQ(all_of_kind<PassBegan>(entries).at(0).epoch, 4u);
  EXPECT_EQ(all_of_kind<Swapped>(entries).at(0).policy, "trials");
  EXPECT_EQ(all_of_kind<Stopped>(entries).at(0).why, "the policy failed");
  EXPECT_EQ(all_of_kind<Frozen>(entries).size(), 2u);
  EXPECT_EQ(all_of_kind<Ended>(entries).at(0).decisions, 50u);
  const auto changes = all_of_kind<LimitsChanged>(entries);
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].limits.knobs[0], (Bounds{1, 5}));

  const auto decisions = all_of_kind<DecisionRead>(entries);
  ASSERT_EQ(decisions.size(), 50u);
  for (std::size_t i = 0; i < 50; ++i) {
    const Decision& was = run.decisions[i];
    const DecisionRead& read = decisions[i];
    ASSERT_EQ(read.words, vector_of(words_of(run.observations[i]))) << i;
    ASSERT_EQ(read.guard_ns, was.guard_ns);
    ASSERT_EQ(read.proposed, numbers_of(was.proposed));
    ASSERT_EQ(read.applied, numbers_of(was.applied));
    for (std::size_t knob = 0; knob < kKnobs; ++knob) ASSERT_EQ(read.holds[knob], static_cast<int>(was.holds[knob]));
    ASSERT_EQ(read.holds[kKnobs], static_cast<int>(was.weights_hold));
    ASSERT_EQ(read.why, was.why.view());
    ASSERT_EQ(read.fault, was.fault.view());
    ASSERT_EQ(read.samples_seen, 600u);
    ASSERT_EQ(read.samples.size(), 4u);
  }
  EXPECT_EQ(decisions[30].fault, "the observation is missing");
  EXPECT_EQ(decisions[30].words[0], 0u);
}

TEST(Trace, SamplesComeBackAsTheyWere) {
  const TemporaryFolder folder;
  auto writer = *TraceWriter::open(folder.file(), "{}");
  SimulatedRun plant;
  const Observation seen = plant.next();
  const SampleBatch batch = plant.samples(3);
  writer->decision(plant.limits, seen, {.time_ns = seen.time_ns}, batch);
  ASSERT_TRUE(writer->close().ok());
  auto reader = TraceReader::open(folder.file());
  const auto decisions = all_of_kind<DecisionRead>(entries_of(**reader));
  ASSERT_EQ(decisions.size(), 1u);
  ASSERT_EQ(decisions[0].samples.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    const SampleRecord& was = batch.samples[i];
    const SampleRead& read = decisions[0].samples[i];
    EXPECT_EQ(read.index, was.index);
    EXPECT_EQ(read.position, was.position);
    EXPECT_EQ(read.bytes, was.bytes);
    EXPECT_EQ(read.known, was.known);
    EXPECT_EQ(read.cpu_ns, was.cpu_ns);
    ASSERT_EQ(read.wall_ns.size(), 3u);
    for (const auto& [lane, ns] : read.wall_ns) EXPECT_EQ(ns, was.wall_ns[lane]);
  }
}

/// The place in a file to try next: each one near where a block ends, some of the others, and all in a full run.
std::size_t next_place(std::size_t at, std::size_t header, const std::vector<std::size_t>& ends) {
  if (at < header) return at + (at > 64 ? 97 : 1);
  const bool near = std::ranges::any_of(ends, [at](std::size_t end) { return at + 64 >= end && at < end + 64; });
  return at + (near || full_tests() ? 1 : 31);  // 31 steps on, another bit is flipped
}

TEST(Trace, CutOffAnywhereIsATraceUpToItsLastWholeBlock) {
  const TemporaryFolder folder;
  auto writer = *TraceWriter::open(folder.file(), "{}");
  RecordedRun run(std::make_unique<RandomWalk>(3), "\"random\"");
  run.record(writer);
  std::uint64_t now = monotonic_ns();
  std::vector<std::size_t> ends = {std::filesystem::file_size(folder.file())};  // of the header, and of each decision
  const std::size_t header = ends[0];
  for (int i = 0; i < 3; ++i) {
    run.step();
    ASSERT_TRUE(writer->flush(now += 2'000'000'000).ok());
    ends.push_back(std::filesystem::file_size(folder.file()));
  }
  const std::string all = contents(folder.file());
  ASSERT_EQ(all.size(), ends.back());
  for (std::size_t size = 0; size < all.size(); size = next_place(size, header, ends)) {
    auto reader = reader_of(all.substr(0, size));
    if (size < header) {
      ASSERT_FALSE(reader.ok()) << size;
      ASSERT_FALSE(reader.error().message.empty());
      continue;
    }
    ASSERT_TRUE(reader.ok()) << size << ": " << reader.error().to_string();
    const auto decisions = all_of_kind<DecisionRead>(entries_of(**reader));
    const auto last = std::ranges::upper_bound(ends, size) - 1;
    ASSERT_EQ(decisions.size(), static_cast<std::size_t>(last - ends.begin())) << size;
    ASSERT_THAT((*reader)->note(), HasSubstr(*last == size ? "was not closed" : "was cut off")) << size;
  }
}

TEST(Trace, AFlippedBitIsNoticedAndWhatIsBeforeItIsRead) {
  const TemporaryFolder folder;
  auto writer = *TraceWriter::open(folder.file(), "{}");
  RecordedRun run(std::make_unique<RandomWalk>(3), "\"random\"");
  run.record(writer);
  std::uint64_t now = monotonic_ns();
  std::vector<std::size_t> ends = {std::filesystem::file_size(folder.file())};
  const std::size_t header = ends[0];
  for (int i = 0; i < 3; ++i) {
    run.step();
    ASSERT_TRUE(writer->flush(now += 2'000'000'000).ok());
    ends.push_back(std::filesystem::file_size(folder.file()));
  }
  const std::string all = contents(folder.file());
  for (std::size_t at = 0; at < all.size(); at = next_place(at, header, ends)) {
    std::string bytes = all;
    bytes[at] = static_cast<char>(bytes[at] ^ 1 << at % 8);
    auto reader = reader_of(bytes);
    if (at < header) {
      ASSERT_FALSE(reader.ok()) << at;
      continue;
    }
    ASSERT_TRUE(reader.ok());
    const auto decisions = all_of_kind<DecisionRead>(entries_of(**reader));
    ASSERT_LT(decisions.size(), 3u) << at;
    ASSERT_THAT((*reader)->note(), testing::AnyOf(HasSubstr("damaged"), HasSubstr("cut off"))) << at;
  }
}

TEST(Trace, AnotherFormatIsRefusedInASentence) {
  const TemporaryFolder folder;
  ASSERT_TRUE((*TraceWriter::open(folder.file(), "{}"))->close().ok());
  std::string bytes = contents(folder.file());
  bytes[kMagic.size()] = 9;
  EXPECT_THAT(reader_of(bytes).error().message, HasSubstr("format 9"));
  EXPECT_THAT(reader_of("PNG is something else").error().message, HasSubstr("no trace"));
  EXPECT_THAT(reader_of("").error().message, HasSubstr("no trace"));
  EXPECT_EQ(TraceReader::open(folder.file("none")).error().code, ErrorCode::kNotFound);
}

TEST(Trace, AFileThatGrowsIsReadAsFarAsItIs) {
  const TemporaryFolder folder;
  auto writer = *TraceWriter::open(folder.file(), "{}");
  auto reader = TraceReader::open(folder.file());
  ASSERT_TRUE(reader.ok());
  EXPECT_TRUE(entries_of(**reader).empty());
  EXPECT_THAT((*reader)->note(), HasSubstr("goes on"));
  EXPECT_TRUE(writer->close().ok());
}

// What does not fit is left out of the samples, not of the decisions.
TEST(TraceSize, AnHourOfDecisionsWithAllTheirSamplesIsTenMegabytesAtMost) {
  const TemporaryFolder folder;
  auto writer = *TraceWriter::open(folder.file(), R"({"plan": {}})");
  RecordedRun run(std::make_unique<RandomWalk>(3), "\"random\"");
  run.record(writer);
  std::uint64_t now = monotonic_ns();
  for (int i = 0; i < 7200; ++i) {
    run.step(/*missing=*/false, kMostSamples);
    if (i % 2 != 0) continue;
    ASSERT_TRUE(writer->flush(now += 1'000'000'000).ok());
  }
  ASSERT_TRUE(writer->close().ok());
  const std::size_t size = std::filesystem::file_size(folder.file());
  RecordProperty("bytes", std::to_string(size));
  EXPECT_LE(size, 10'000'000u);
  auto reader = TraceReader::open(folder.file());
  std::size_t decisions = 0, samples = 0;
  for (const DecisionRead& decision : all_of_kind<DecisionRead>(entries_of(**reader))) {
    ++decisions;
    samples += decision.samples.size();
  }
  EXPECT_EQ(decisions, 7200u);
  RecordProperty("samples", std::to_string(samples));
  EXPECT_GE(samples, 7200u * 16);
}

// Every lane in use and every number another one, as far as half a second can change it.
TEST(TraceSize, ADecisionWithoutSamplesIsShortWhateverChanged) {
  TraceEncoder encoder;
  SimulatedRun plant(kLanes.size());
  std::size_t longest = 0;
  for (int i = 0; i < 500; ++i) {
    Observation seen = plant.next();
    seen.turn = static_cast<Turn>(i % 3);
    seen.finished = i % 2 == 0;
    seen.processes = {.starting = i % 7,
                      .leaving = i % 5,
                      .output = 1000u * i,
                      .demand_ns = 300'000'000u * i,
                      .idle_cores_ns = 400'000'000u * i,
                      .idle = 3u * i};
    seen.storage.refusals = seen.storage.retries = seen.storage.failures = 700u * i;
    plant.limits.cpus = 1 + 0.1 * i;
    plant.limits[KnobId::kWorkers].high = 1 + i % 700;
    Settings settings = seen.settings;
    for (std::int32_t& value : settings.knobs) value = i % 768;
    for (std::int32_t& weight : settings.lane_weights) weight = i % 16;
    seen.settings = settings;
    Decision decision{.time_ns = seen.time_ns,
                      .guard_ns = seen.time_ns + 1'000'000u * i,
                      .before = settings,
                      .proposed = settings,
                      .applied = settings,
                      .weights_hold = Hold::kClock,
                      .why = Reason(std::string(kReasonBytes, static_cast<char>('a' + i % 26))),
                      .fault = Reason(std::string(kReasonBytes, static_cast<char>('A' + i % 26)))};
    decision.holds.fill(Hold::kNotch);
    const std::size_t size = encoder.decision(plant.limits, seen, decision, {}).size();
    if (i > 0) longest = std::max(longest, size);
  }
  RecordProperty("longest", std::to_string(longest));
  EXPECT_LE(longest, 1500u);
}

TEST(TraceSize, SamplesAreLeftOutEvenly) {
  TraceEncoder encoder;
  SimulatedRun plant;
  TraceHeader header = this_header(0, 0);
  TraceDecoder decoder(header);
  const Observation seen = plant.next();
  SampleBatch batch = plant.samples();
  for (std::size_t i = 0; i < batch.samples.size(); ++i) {
    batch.samples[i].wall_ns.fill(1ull << 40);  // 6 bytes a lane
    batch.samples[i].position = i;
  }
  const Bytes record = encoder.decision(plant.limits, seen, {.time_ns = seen.time_ns}, batch);
  EXPECT_LE(record.size(), kDecisionBytes);
  ByteCursor in(record);
  std::vector<SampleRead> kept;
  while (!in.empty()) {
    const auto tag = static_cast<Tag>(in.byte());
    const auto entry = decoder.read(tag, in.take(in.number()));
    ASSERT_TRUE(entry.ok());
    if (const auto* decision = std::get_if<DecisionRead>(&*entry)) kept = decision->samples;
  }
  ASSERT_GE(kept.size(), 2u);
  ASSERT_LT(kept.size(), kMostSamples);
  const double apart = static_cast<double>(kMostSamples) / static_cast<double>(kept.size());
  for (std::size_t i = 1; i < kept.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(kept[i].position - kept[i - 1].position), apart, 1.0);
  }
}

}  // namespace
}  // namespace drapps::trace
