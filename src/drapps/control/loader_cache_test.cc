// A loader whose records are kept: what its batches hold never depends on it, and storage gives each record once.
#include "drapps/control/loader_cache.h"

#include <gtest/gtest.h>

#include <numeric>
#include <thread>

#include "drapps/base/full_testing.h"
#include "drapps/control/loader.h"
#include "drapps/modality/test_pictures.h"
#include "drapps/source/encoded.h"
#include "drapps/storage/emulated_storage.h"
#include "drapps/storage/testing.h"

namespace drapps {
namespace {

using std::chrono::milliseconds;

/// Files in a folder of their own, long enough ago that their attributes tell every change.
class KeptRecords : public testing::Test {
 protected:
  void put(std::uint32_t count, std::uint32_t height, std::uint32_t width, std::uint32_t widths = 3) {
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto png = testing_pictures::png(height, width + i % widths, i);
      paths_.push_back(folder_.put(std::to_string(i) + ".png", {png.begin(), png.end()}));
      sizes_.push_back(png.size());
    }
    std::this_thread::sleep_for(milliseconds(30));
  }
  std::shared_ptr<Source> source(std::shared_ptr<Storage> storage, std::size_t first = 0,
                                 std::size_t count = SIZE_MAX) const {
    PathList paths;
    for (std::size_t i = first; i < paths_.size() && i - first < count; ++i) {
      EXPECT_TRUE(paths.append(paths_[i]).ok());
    }
    std::shared_ptr<Source> source = *FileSource::make(std::move(paths));
    source->set_storage(std::move(storage));
    return source;
  }
  static std::shared_ptr<EmulatedStorage> fast() {
    return std::make_shared<EmulatedStorage>(*Emulation::make({.schedule = {{0, {}}}}));
  }
  static std::unique_ptr<Loader> loader(std::shared_ptr<Source> source, const CacheOptions& options, bool fixed = false,
                                        std::optional<std::size_t> ram = {}) {
    PipelineSpec spec;
    std::vector<Op> ops;
    if (fixed) ops.emplace_back(Resize{.height = 18, .width = 20});
    ops.emplace_back(RandomResizedCrop{.height = 8, .width = 8});
    ops.emplace_back(HorizontalFlip{});
    spec.parts = {testing_pictures::picture_part({.ops = std::move(ops)})};
    spec.sampler = {.shuffle = true, .seed = 7, .batch = 16};
    const Budget budget{.cpus = ram ? std::optional(2.0) : std::nullopt, .bytes = ram};  // workers have memory each
    auto result = Loader::make(std::move(spec), std::move(source), {.budget = budget, .cache = options});
    EXPECT_TRUE(result.ok()) << result.error().message;
    return *std::move(result);
  }
  static std::vector<std::string> pass(Loader& loader, std::uint32_t epoch) {
    const auto iterator = *loader.iterate({.epoch = epoch});
    std::vector<std::string> contents;
    while (true) {
      const auto next = iterator->next(std::chrono::seconds(60));
      if (const auto* error = next ? std::get_if<Error>(&*next) : nullptr) {
        contents.push_back(error->path + ": " + error->message);
        continue;
      }
      if (!next || !std::holds_alternative<Batch>(*next)) return contents;
      const auto& batch = std::get<Batch>(*next);
      std::string& content = contents.emplace_back();
      for (const Column& column : batch.plan->layout.columns()) {
        content.append(reinterpret_cast<const char*>(batch.slot.data() + column.offset), column.row_bytes * batch.rows);
      }
    }
  }
  static CacheOptions kept(std::size_t budget, cache::FormId form = cache::FormId::kBytes) {
    return {.budget = budget, .chosen = true, .index = false, .form = form};
  }
  std::uint64_t total() const { return std::accumulate(sizes_.begin(), sizes_.end(), std::uint64_t{0}); }

  Folder folder_;
  std::vector<std::string> paths_;
  std::vector<std::uint64_t> sizes_;
};

std::uint64_t count_of(const Loader& loader, const char* section, const char* number) {
  const auto forms = loader.explain()["forms"];
  return forms.contains(section) ? forms[section][number].get<std::uint64_t>() : 0;
}

constexpr std::size_t kRoom = std::size_t{64} << 20;

TEST_F(KeptRecords, StorageGivesTheRecordsThatAreKeptNoSecondTime) {
  const bool full = full_tests();
  put(full ? 10'000 : 3'000, 3, 3);
  for (const double share : full ? std::vector{.10, .35, .50, .65, .90} : std::vector{.10, .90}) {
    const auto storage = fast();
    const auto files = source(storage);
    std::size_t entries = 0;
    for (const std::uint64_t size : sizes_) entries += cache::Store::size_of(cache::FormId::kBytes, size);
    const std::size_t table = files->size() * 8 / 7 * 8 + 4096;
    const auto keeps = loader(files, kept(table + static_cast<std::size_t>(share * static_cast<double>(entries))));
    std::uint64_t before = 0;
    for (std::uint32_t epoch = 0; epoch < (full ? 5 : 3); ++epoch) {
      const std::uint64_t hits_before = count_of(*keeps, "cache", "hits");
      pass(*keeps, epoch);
      const std::uint64_t read = storage->meter().bytes - before;
      before = storage->meter().bytes;
      const std::uint64_t hits = count_of(*keeps, "cache", "hits") - hits_before;
      if (epoch == 0) {
        EXPECT_EQ(read, total());
        EXPECT_EQ(hits, 0u);
      } else {
        EXPECT_EQ(read, total() - count_of(*keeps, "bytes", "bytes"));
        EXPECT_EQ(hits, count_of(*keeps, "bytes", "samples"));
      }
    }
    const double ratio = static_cast<double>(count_of(*keeps, "bytes", "samples")) / static_cast<double>(files->size());
    EXPECT_NEAR(ratio, share, 0.01);
  }
}

TEST_F(KeptRecords, EveryFormAndBudgetGivesTheSameStream) {
  put(96, 20, 24);
  const auto plain = loader(source(fast()), {.on = false, .index = false, .form = {}});
  const auto plain_fixed = loader(source(fast()), {.on = false, .index = false, .form = {}}, true);
  for (std::size_t i = 0; i < EnumNames<cache::FormId>::kNames.size(); ++i) {
    const auto form = static_cast<cache::FormId>(i);
    for (const std::size_t budget : {kRoom, std::size_t{60'000}}) {
      for (const bool fixed : {false, true}) {
        const auto storage = fast();
        const auto keeps = loader(source(storage), kept(budget, form), fixed);
        for (std::uint32_t epoch = 0; epoch < 4; ++epoch) {
          Settings settings = keeps->settings();
          settings[KnobId::kFused] = epoch % 2 == 0 ? 1 : 0;
          keeps->apply(settings);
          EXPECT_EQ(pass(*keeps, epoch), pass(fixed ? *plain_fixed : *plain, epoch))
              << EnumNames<cache::FormId>::kNames[i] << " " << budget;
        }
        EXPECT_GT(count_of(*keeps, "cache", "hits"), 0u) << EnumNames<cache::FormId>::kNames[i];
        EXPECT_LE(count_of(*keeps, "cache", "bytes"), budget);
        EXPECT_TRUE(budget != kRoom || storage->meter().bytes == total());
      }
    }
  }
}

TEST_F(KeptRecords, RecordsInMemoryAreKeptInFormsThatSaveWork) {
  std::vector<std::vector<std::uint8_t>> pngs;
  for (std::uint32_t i = 0; i < 48; ++i) pngs.push_back(testing_pictures::png(20, 24, i));
  const auto owner = std::make_shared<std::vector<std::vector<std::uint8_t>>>(std::move(pngs));
  std::vector<MemorySource::Bytes> records(owner->begin(), owner->end());
  const std::shared_ptr<Source> memory = *MemorySource::make(records, owner);
  const auto plain = loader(memory, {.on = false, .index = false, .form = {}});
  const auto raw = loader(memory, kept(kRoom, cache::FormId::kRaw));
  const auto bytes = loader(memory, kept(kRoom));
  for (std::uint32_t epoch = 0; epoch < 3; ++epoch) {
    const auto expected = pass(*plain, epoch);
    EXPECT_EQ(pass(*raw, epoch), expected);
    EXPECT_EQ(pass(*bytes, epoch), expected);
  }
  EXPECT_EQ(count_of(*raw, "cache", "hits"), 96u);
  EXPECT_EQ(count_of(*bytes, "cache", "hits"), 0u);
}

TEST_F(KeptRecords, AChangedFileIsReadAnew) {
  put(32, 20, 24);
  const auto keeps = loader(source(fast()), kept(kRoom, cache::FormId::kRaw));
  pass(*keeps, 0);
  for (std::uint32_t i = 0; i < 32; i += 3) {
    const auto png = testing_pictures::png(20, 24 + i % 3, i + 1000);  // of the same size
    folder_.put(std::to_string(i) + ".png", {png.begin(), png.end()});
  }
  std::filesystem::remove(paths_[4]);
  const auto plain = loader(source(fast()), {.on = false, .index = false, .form = {}});
  for (std::uint32_t epoch = 1; epoch < 4; ++epoch) EXPECT_EQ(pass(*keeps, epoch), pass(*plain, epoch));
  EXPECT_GE(count_of(*keeps, "cache", "stale"), 11u);
}

TEST_F(KeptRecords, WhatFindsNoRoomIsNotMadeOfEveryRecordInEveryPass) {
  // Of one size, so that the room left is the same whichever records fill the cache: too little for one more, and
  // enough to try.
  put(96, 20, 24, 1);
  const std::size_t entry = cache::Store::size_of(cache::FormId::kRawZstd, std::size_t{20} * 24 * 3);
  const auto keeps = loader(source(fast()), kept(8192 + 20 * entry + entry / 2, cache::FormId::kRawZstd));
  const std::uint64_t refused_before = count_of(*keeps, "cache", "refused");  // since the process began
  for (std::uint32_t epoch = 0; epoch < 5; ++epoch) pass(*keeps, epoch);
  const std::uint64_t refused = count_of(*keeps, "cache", "refused") - refused_before;
  const std::uint64_t samples = count_of(*keeps, "raw+zstd", "samples");
  EXPECT_GT(samples, 10u);
  EXPECT_GT(refused, 0u);
  EXPECT_LT(refused, 32u);
  for (const std::string& path : paths_)
    std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now());
  std::this_thread::sleep_for(milliseconds(30));
  for (std::uint32_t epoch = 5; epoch < 7; ++epoch) pass(*keeps, epoch);
  EXPECT_GE(count_of(*keeps, "cache", "stale"), samples);
  EXPECT_GE(count_of(*keeps, "raw+zstd", "samples") + 2, samples);
}

TEST_F(KeptRecords, ByDefaultWhatThePageCacheHoldsIsNotKept) {
  put(32, 20, 24);
  const auto warm = loader(source(Storage::files()), {});
  for (std::uint32_t epoch = 0; epoch < 3; ++epoch) pass(*warm, epoch);
  EXPECT_EQ(count_of(*warm, "bytes", "samples"), 0u);
  const auto far = loader(source(fast()), {});
  for (std::uint32_t epoch = 0; epoch < 2; ++epoch) pass(*far, epoch);
  EXPECT_EQ(count_of(*far, "bytes", "samples"), 32u);
}

TEST_F(KeptRecords, LoadersThatComeAndGoFindPlaceWhileAnotherStays) {
  put(550, 3, 3);
  const auto stays_on = fast();
  const auto stays = loader(source(stays_on, 0, 50), kept(kRoom));
  pass(*stays, 0);
  const std::uint64_t once = stays_on->meter().bytes;
  for (std::size_t fold = 0; fold < 10; ++fold) {
    const auto storage = fast();
    const auto comes = loader(source(storage, 50 + 50 * fold, 50), kept(kRoom));
    pass(*comes, 0);
    const std::uint64_t read = storage->meter().bytes;
    pass(*comes, 1);
    EXPECT_EQ(storage->meter().bytes, read) << fold;
    pass(*stays, 1);
  }
  EXPECT_EQ(stays_on->meter().bytes, once);
}

TEST_F(KeptRecords, AFullCacheLowersNeitherDepthNorWorkersAndObeysABudgetThatFalls) {
  put(500, 40, 48);
  // Room for all but some, also where each batch of a pass is prefetched.
  const auto keeps = loader(source(fast()), kept(kRoom), false, std::size_t{7} << 19);
  const auto expected = pass(*keeps, 1);
  const Settings before = keeps->settings();
  EXPECT_GT(count_of(*keeps, "cache", "bytes"), std::size_t{2} << 20);
  EXPECT_LT(count_of(*keeps, "bytes", "samples"), paths_.size());
  EXPECT_EQ(pass(*keeps, 1), expected);
  EXPECT_EQ(keeps->settings()[KnobId::kPrefetchDepth], before[KnobId::kPrefetchDepth]);
  EXPECT_EQ(keeps->settings()[KnobId::kWorkers], before[KnobId::kWorkers]);

  const auto iterator = *keeps->iterate({.epoch = 1});
  ASSERT_TRUE(iterator->next(std::chrono::seconds(60)));
  const auto smaller = loader(source(fast()), {.on = false, .index = false, .form = {}}, false, std::size_t{1} << 20);
  EXPECT_LE(Engine::get().cache().bytes(), std::size_t{1} << 20);
  std::size_t batches = 1;
  while (true) {
    const auto next = iterator->next(std::chrono::seconds(60));
    if (!next || !std::holds_alternative<Batch>(*next)) break;
    ++batches;
  }
  EXPECT_EQ(batches, expected.size());
}

TEST(CacheOptions, SayWhatIsWrongWithThem) {
  using nlohmann::json;
  EXPECT_FALSE(cache_options("off", nullptr)->on);
  EXPECT_FALSE(cache_options(nullptr, nullptr)->chosen);
  EXPECT_EQ(cache_options(1000u, "raw")->form, cache::FormId::kRaw);
  EXPECT_FALSE(cache_options(nullptr, "index")->form);
  EXPECT_TRUE(cache_options(nullptr, "jpeg+index")->index);
  for (const auto& [budget, form, why] :
       {std::tuple<json, json, const char*>{"on", nullptr, R"("auto", "off" or a number)"},
        {0u, nullptr, "> 0"},
        {nullptr, "lz5", "\"raw+lz4\""},
        {nullptr, 3, "must be one of"},
        {"off", "raw", "leave out one of them"}}) {
    const auto refused = cache_options(budget, form);
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.error().message.find(why), std::string::npos) << refused.error().message;
  }
}

}  // namespace
}  // namespace drapps
