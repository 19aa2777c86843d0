// A pass over files on an emulated storage: the stream is that of the files, whatever the storage does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
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

using std::chrono::milliseconds;
using testing::HasSubstr;

constexpr std::uint32_t kStoredPictures = 16;
constexpr const char* kStoredDescription =
    R"({"ops":[{"op":"random_resized_crop","height":16,"width":16},)"
    R"({"op":"horizontal_flip"}],"sampler":{"batch":4,"shuffle":true,"seed":3}})";

class StoragePass : public testing::Test {
 protected:
  StoragePass() {
    for (std::uint32_t i = 0; i < kStoredPictures; ++i) {
      const auto png = testing_pictures::png(20, 24, i);
      folder_.put(std::to_string(i) + ".png", {png.begin(), png.end()});
    }
  }
  std::shared_ptr<Source> source(std::shared_ptr<Storage> storage) const {
    PathList paths;
    for (std::uint32_t i = 0; i < kStoredPictures; ++i)
      EXPECT_TRUE(paths.append(folder_.path(std::to_string(i) + ".png")).ok());
    std::shared_ptr<Source> source = *FileSource::make(std::move(paths));
    source->set_storage(std::move(storage));
    return source;
  }
  std::unique_ptr<Runner> start(const std::shared_ptr<Source>& source,
                                const std::string& description = kStoredDescription) {
    return test_pass::start(engine_, *Plan::make(*parse_spec(description), *source), source, true);
  }
  static std::shared_ptr<EmulatedStorage> emulated(EmulationSpec spec, const RetryOptions& retry) {
    return std::make_shared<EmulatedStorage>(*Emulation::make(std::move(spec)), retry);
  }

  Folder folder_;
  Engine engine_;
};

TEST_F(StoragePass, TheStreamIsTheSameOnEveryStorageAndUnderEverySchedule) {
  const auto expected = test_pass::drain(*start(source(Storage::files())), "image");
  ASSERT_EQ(expected.size(), kStoredPictures / 4);
  const EmulationSpec schedules[] = {
      {.schedule = {{0, {.latency = 0.005, .latency_spread = 1}}}},
      {.schedule = {{0, {.bandwidth = 200e3}}}},
      {.schedule = {{0, {.requests_per_second = 200}}}},
      {.schedule = {{0, {.connection_bandwidth = 200e3, .latency = 0.001}}, {0.02, {.refuses = true}}}, .period = 0.06},
      {.schedule = {{0, {}}, {0.01, {.stalls = true}}, {0.1, {.latency = 0.002}}}},
  };
  for (const EmulationSpec& spec : schedules) {
    const auto storage = emulated(spec, {.first_pause = milliseconds(2), .longest_pause = milliseconds(20)});
    EXPECT_EQ(test_pass::drain(*start(source(storage)), "image"), expected);
    EXPECT_EQ(storage->meter().in_flight, 0);
    EXPECT_EQ(storage->meter().failures, 0u);
  }
}

TEST_F(StoragePass, AnOutageBeyondTheDeadlineIsAnErrorThatNamesTheSampleAndTheStorage) {
  const RetryOptions quick{
      .first_pause = milliseconds(1), .longest_pause = milliseconds(4), .deadline = milliseconds(30)};
  const EmulationSpec outages[] = {{.schedule = {{0, {.refuses = true}}}},
                                   {.schedule = {{0, {.stalls = true}}, {3600, {}}}}};
  for (const EmulationSpec& outage : outages) {
    const auto runner = start(source(emulated(outage, quick)));
    EXPECT_THAT(test_pass::drain(*runner, "image")[0], HasSubstr("the storage (emulated)"));
    ASSERT_FALSE(runner->bad_samples().empty());
    EXPECT_EQ(runner->bad_samples()[0].code, ErrorCode::kUnavailable);
    EXPECT_THAT(runner->bad_samples()[0].path, HasSubstr(".png"));
    EXPECT_GE(runner->bad_samples()[0].index, 0);
  }
}

TEST_F(StoragePass, APassEndsInTheMiddleOfAnOutage) {
  const EmulationSpec outages[] = {{.schedule = {{0, {.refuses = true}}}},
                                   {.schedule = {{0, {.stalls = true}}, {3600, {}}}}};
  for (const EmulationSpec& outage : outages) {
    const auto storage = emulated(outage, {.deadline = std::chrono::hours(2)});
    auto runner = start(source(storage));
    std::this_thread::sleep_for(milliseconds(20));
    runner.reset();
    EXPECT_EQ(storage->meter().in_flight, 0);
  }
}

}  // namespace
}  // namespace drapps
