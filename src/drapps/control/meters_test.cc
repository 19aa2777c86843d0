#include "drapps/control/meters.h"

#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "drapps/base/clock.h"
#include "drapps/control/client.h"
#include "drapps/control/fake_plant_test.h"
#include "drapps/meter/nvml_machine_test.h"
#include "drapps/meter/system_tree_test.h"
#include "drapps/source/encoded.h"

namespace drapps {
namespace {

constexpr const char* kNoLibrary = "/there/is/no/such/library.so";

void put_core(const SystemTree& tree, int busy) {
  tree.put("/proc/stat", "cpu0 " + std::to_string(busy) + " 0 0 0 0 0 0 0\n");
}

/// A source whose records lie in these files.
std::unique_ptr<FileSource> files_of(const std::vector<std::string>& paths) {
  PathList list;
  for (const std::string& path : paths) {
    if (!list.append(path).ok()) ADD_FAILURE() << path;
  }
  return *FileSource::make(std::move(list));
}

TEST(Meters, WithNothingReadableAllIsInvalid) {
  const SystemTree tree;
  Meters meters(tree.root(), {.library = kNoLibrary});
  for (std::uint64_t look = 1; look < 4; ++look) {
    for (const Reading& each : list_of(meters.read(look * kSecondNs))) EXPECT_FALSE(each.valid);
  }
  const nlohmann::json report = meters.to_json(5 * kSecondNs);
  EXPECT_EQ(report["readings"].size(), kMachineReadings);
  for (const auto& [name, each] : report["readings"].items()) {
    EXPECT_TRUE(each["value"].is_null()) << name;
    EXPECT_FALSE(each.contains("age_s")) << name;
    EXPECT_FALSE(each["source"].get<std::string>().empty()) << name;
  }
  for (const char* list : {"cores", "gpus", "disks", "interfaces"}) EXPECT_TRUE(report[list].empty()) << list;
}

TEST(Meters, AreReadForAllLoadersTogether) {
  const SystemTree tree;
  Meters meters(tree.root(), {.library = kNoLibrary});
  put_core(tree, 0);
  meters.read(kSecondNs);
  put_core(tree, 25);
  EXPECT_DOUBLE_EQ(meters.read(kSecondNs + kSecondNs / 2).cpu.use_mean.value, 0.5);
  put_core(tree, 1000);
  EXPECT_DOUBLE_EQ(meters.read(kSecondNs + kSecondNs * 3 / 4).cpu.use_mean.value, 0.5);  // of a loader beside it
  const nlohmann::json report = meters.to_json(kSecondNs + kSecondNs * 3 / 4);
  EXPECT_DOUBLE_EQ(report["readings"]["cpu.use_mean"]["value"], 0.5);
  EXPECT_EQ(report["readings"]["cpu.use_mean"]["unit"], "share");
  EXPECT_DOUBLE_EQ(report["readings"]["cpu.use_mean"]["age_s"], 0.25);
  EXPECT_EQ(report["cores"][0]["cpu"], 0);
  EXPECT_TRUE(report["cores"][0]["steal"].is_number());
}

TEST(Meters, SumTheWorkerProcessesOfLoadersUntilTheyLeave) {
  const SystemTree tree;
  Meters meters(tree.root(), {.library = kNoLibrary}, 0);
  const auto put = [&](int pid, int ns) {
    tree.put("/proc/" + std::to_string(pid) + "/schedstat", "0 " + std::to_string(ns) + " 1");
  };
  const std::vector<std::int32_t> first{20, 21}, second{22};
  const int one = 1, other = 2;
  for (const int pid : {20, 21, 22}) put(pid, 0);
  meters.read(kSecondNs, &one, first);
  EXPECT_FALSE(meters.read(2 * kSecondNs - 1, nullptr, {}).tasks.processes_cpu.valid);
  meters.read(2 * kSecondNs, &other, second);
  put(20, 100'000'000);
  put(22, 200'000'000);
  EXPECT_NEAR(meters.read(3 * kSecondNs).tasks.processes_wait.value, 0.3, 1e-9);
  meters.leave(&one);
  put(20, 900'000'000);
  EXPECT_NEAR(meters.read(4 * kSecondNs).tasks.processes_wait.value, 0, 1e-9);
  meters.leave(&other);
  EXPECT_FALSE(meters.read(5 * kSecondNs).tasks.processes_wait.valid);
}

TEST(Meters, KnowTheDisksOfTheDataAsLongAsTheyAreUsed) {
  const SystemTree tree;
  tree.put("/data.bin", "x");
  tree.put("/proc/self/mountinfo", "27 1 8:1 / / rw - ext4 /dev/sda1 rw\n");
  const auto put = [&](int sectors) {
    tree.put("/proc/diskstats", "8 1 sda1 1 0 " + std::to_string(sectors) + " 1 0 0 0 0 0 0 0\n");
  };
  Meters meters(tree.root(), {.library = kNoLibrary}, 0);
  auto files = data_files_of(*files_of({tree.root() + "/data.bin"}));
  ASSERT_NE(files, nullptr);
  meters.add(files);
  meters.add(nullptr);
  put(0);
  meters.read(kSecondNs);
  put(10);
  EXPECT_DOUBLE_EQ(meters.read(2 * kSecondNs).disk.data_read.value, 5120);
  files.reset();
  EXPECT_FALSE(meters.read(3 * kSecondNs).disk.data_read.valid);
}

TEST(Meters, OfThisMachineAreReadWithoutHarm) {
  Meters meters("", {}, 0);
  const int self = getpid();
  const std::vector<std::int32_t> processes{self};
  meters.read(monotonic_ns(), &self, processes);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  for (const Reading& each : list_of(meters.read(monotonic_ns(), &self, processes))) {
    EXPECT_GE(each.value, 0);
    EXPECT_TRUE(each.valid || each.value == 0);
  }
  EXPECT_EQ(meters.to_json(monotonic_ns())["readings"].size(), kMachineReadings);
}

TEST(Client, ADecisionSeesTheMachine) {
  struct Sees final : Policy {
    explicit Sees(MeterObservation& into) : into_(into) {}
    std::string_view name() const noexcept override { return "sees"; }
    Settings decide(const Observation& seen, PolicyState&) const override {
      into_ = seen.meters;
      return seen.settings;
    }
    MeterObservation& into_;
  };
  const SystemTree tree;
  Meters meters(tree.root(), {.library = kNoLibrary});
  MeterObservation seen;
  const auto plant = std::make_shared<FakePlant>();
  Client client(plant, std::make_unique<Sees>(seen), nullptr, std::nullopt, &meters);
  put_core(tree, 0);
  plant->run(10, 50);
  client.tick(plant->clock());
  EXPECT_FALSE(seen.has(place_of(kPlaces.cpu.use_mean)));
  put_core(tree, 25);
  plant->run(10, 50);
  client.tick(plant->clock());
  EXPECT_TRUE(seen.has(place_of(kPlaces.cpu.use_mean)));
  EXPECT_DOUBLE_EQ(seen.value(place_of(kPlaces.cpu.use_mean)), 0.5);
  EXPECT_FALSE(seen.has(place_of(kPlaces.gpu.max.use)));

  // The rates of the first decision of a pass are of that pass, however long it was before it.
  plant->change([](Observation& now) { now.finished = true; });
  plant->run(1, 100'000);
  client.tick(plant->clock());
  put_core(tree, 1000);
  client.begin_epoch(1);
  plant->change([](Observation& now) { now.finished = false; });
  client.tick(plant->clock());
  put_core(tree, 1040);
  plant->run(10, 50);
  client.tick(plant->clock());
  EXPECT_DOUBLE_EQ(seen.value(place_of(kPlaces.cpu.use_mean)), 0.8);
}

using SlowMetersTest = NvmlTest;

TEST_F(SlowMetersTest, GiveWhatTheirThreadHasReadLast) {
  StandInDevice& gpu = add_gpu("GPU-1");
  gpu.percent = 40;
  gpu.total = 1000;
  gpu.from_host = 2;
  SlowMeters meters({.library = library, .environment = environment});
  SlowReadings seen = meters.read();
  EXPECT_FALSE(seen.gpu.mean.use.valid);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!seen.gpu.mean.use.valid && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    seen = meters.read();
  }
  ASSERT_TRUE(seen.gpu.mean.use.valid);
  EXPECT_DOUBLE_EQ(seen.gpu.mean.use.value, 0.4);
  EXPECT_DOUBLE_EQ(seen.gpu_link.max.from_host.value, 2048);
  EXPECT_EQ(seen.gpus.size(), 1u);
  EXPECT_FALSE(seen.residency.resident.valid);
}

TEST_F(SlowMetersTest, SeeTheGpusThatTheyWereMadeWith) {
  add_gpu("GPU-1").percent = 40;
  const char* const name = "CUDA_VISIBLE_DEVICES";
  if (std::getenv(name) != nullptr) GTEST_SKIP() << name << " is set";
  SlowMeters meters({.library = library});
  setenv(name, "", 1);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (meters.read().gpus.empty() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  unsetenv(name);
  EXPECT_EQ(meters.read().gpus.size(), 1u);
}

TEST_F(SlowMetersTest, AskNothingAfterTheirEnd) {
  add_gpu("GPU-1").percent = 40;
  SlowMeters meters({.library = library, .environment = environment});
  meters.read();
  meters.end();
  const unsigned asked = machine->questions;
  meters.read();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(machine->questions, asked);
  SlowMeters never({.library = library, .environment = environment});
  never.end();
  EXPECT_FALSE(never.read().gpu.mean.use.valid);
}

TEST(DataFiles, AreACopyOfSomeOfTheSourcesPaths) {
  std::vector<std::string> paths;
  for (int i = 0; i < 3000; ++i) paths.push_back("/there/is/no/" + std::to_string(i));
  const auto few = data_files_of(*files_of({paths[0], paths[1]}));
  EXPECT_EQ(few->paths, (std::vector<std::string>{paths[0], paths[1]}));
  EXPECT_EQ(few->place, "");
  const auto many = data_files_of(*files_of(paths));
  EXPECT_EQ(many->paths.size(), kMostDataFiles);
  EXPECT_EQ(many->paths, data_files_of(*files_of(paths))->paths);
  const std::vector<MemorySource::Bytes> records(3);
  EXPECT_EQ(data_files_of(**MemorySource::make(records, nullptr)), nullptr);
}

}  // namespace
}  // namespace drapps
