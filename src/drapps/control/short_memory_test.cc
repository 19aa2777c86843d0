// Every single allocation and every start of a thread fails once: a pass gives its batches or a typed error, and the
// next pass gives its batches.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define DRAPPS_MEMORY_IS_THE_SANITIZERS
#endif
#if __has_feature(address_sanitizer)
#define DRAPPS_THREADS_ARE_THE_SANITIZERS
#endif
#endif
#ifndef DRAPPS_MEMORY_IS_THE_SANITIZERS

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <new>

#include "drapps/base/caught.h"
#include "drapps/base/full_testing.h"
#include "drapps/control/loader.h"
#include "drapps/decode/testing.h"
#include "drapps/modality/picture.h"
#include "drapps/source/array.h"
#include "drapps/source/encoded.h"
#include "drapps/text/corpus/corpus.h"
#include "drapps/text/corpus/document_reader.h"

namespace {

/// Counts what it is asked, in all threads but those that hold a Spared, and refuses a range of it.
class Refusals {
 public:
  bool refuse() {
    if (!armed_.load(std::memory_order_relaxed) || spared > 0) return false;
    const long number = asked_.fetch_add(1, std::memory_order_relaxed) + 1;
    return number >= first_ && number < first_ + count_;
  }
  void arm(long first, long count) {
    first_ = first;
    count_ = count;
    asked_ = 0;
    armed_ = true;
  }
  /// Whether the first of the range was asked.
  bool disarm() {
    armed_ = false;
    return asked_ >= first_;
  }
  static thread_local int spared;

 private:
  std::atomic<bool> armed_{false};
  std::atomic<long> asked_{0};
  std::atomic<long> first_{0};
  std::atomic<long> count_{0};
};
thread_local int Refusals::spared = 0;

Refusals memory_refusals;
Refusals thread_refusals;

/// What the test itself does, it does undisturbed.
struct Spared {
  Spared() { ++Refusals::spared; }
  ~Spared() { --Refusals::spared; }
  Spared(const Spared&) = delete;
  Spared& operator=(const Spared&) = delete;
};

void* allocate_or_null(std::size_t bytes, std::size_t alignment = 16) {
  if (memory_refusals.refuse()) return nullptr;
  return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

void* allocate_or_throw(std::size_t bytes, std::size_t alignment = 16) {
  void* const memory = allocate_or_null(bytes, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

// Not inlined, because the compiler would then see free() given what it takes for memory of the standard new.
[[gnu::noinline]] void* operator new(std::size_t bytes) { return allocate_or_throw(bytes); }
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate_or_throw(bytes, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return allocate_or_null(bytes);
}
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocate_or_null(bytes, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

#ifndef DRAPPS_THREADS_ARE_THE_SANITIZERS
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*),
                              void* argument) noexcept {
  static const auto make = reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  return thread_refusals.refuse() ? EAGAIN : make(thread, attributes, body, argument);
}
#endif

namespace drapps {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kRecords = 10;
constexpr std::uint32_t kBadRecord = 6;
constexpr auto kHangs = 60s;

std::vector<std::uint8_t> record(std::uint32_t number, bool bad) {
  auto bytes = number % 2 == 0 ? testing::encode_png({20, 24})
                               : testing::encode_jpeg({40, 48 + static_cast<std::int32_t>(number)}, {});
  if (bad && number == kBadRecord) bytes.resize(30);
  return bytes;
}

std::shared_ptr<Source> in_memory(bool bad) {
  auto all = std::make_shared<std::vector<std::vector<std::uint8_t>>>();
  for (std::uint32_t i = 0; i < kRecords; ++i) all->push_back(record(i, bad));
  std::vector<MemorySource::Bytes> records(all->begin(), all->end());
  return *MemorySource::make(std::move(records), all);
}

class Files {
 public:
  Files() {
    std::string pattern = (std::filesystem::temp_directory_path() / "drapps-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~Files() { std::filesystem::remove_all(folder_); }
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;

  std::string put(const std::string& name, const auto& bytes) const {
    const std::string path = folder_ / name;
    std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
    return path;
  }
  std::shared_ptr<Source> source(bool bad) const {
    PathList paths;
    for (std::uint32_t i = 0; i < kRecords; ++i) {
      EXPECT_TRUE(paths.append(put(std::to_string(i), record(i, bad))).ok());
    }
    return *FileSource::make(std::move(paths));
  }

 private:
  std::filesystem::path folder_;
};

std::shared_ptr<Source> in_arrays() {
  auto pixels = std::make_shared<std::vector<std::uint8_t>>(kRecords * 24 * 24);
  for (std::size_t i = 0; i < pixels->size(); ++i) (*pixels)[i] = static_cast<std::uint8_t>(i * 2654435761u >> 9);
  PictureArray picture{.name = "image",
                       .layout = {1, {24, 24}, 24 * 24, 24, 1},
                       .data = pixels->data(),
                       .stride = 24 * 24,
                       .rows = kRecords};
  return *ArraySource::make({}, std::move(picture), nullptr, pixels);
}

struct Case {
  std::shared_ptr<Source> source;
  OnError on_error = OnError::kRaise;
  bool fused = true;

  Result<std::unique_ptr<Loader>> loader() const {
    PipelineSpec spec;
    {
      const Spared spared;
      spec.parts = {
          {"image", std::make_shared<PicturePart>(PictureFields{
                        .ops = {RandomResizedCrop{.height = 16, .width = 12}, HorizontalFlip{}, ColorJitter{}}})}};
      spec.sampler = {.shuffle = true, .seed = 3, .batch = 4};
      spec.on_error = on_error;
    }
    Settings settings;
    settings[KnobId::kWorkers] = 2;
    settings[KnobId::kIoDepth] = 2;
    settings[KnobId::kPrefetchDepth] = 2;
    settings[KnobId::kFused] = fused ? 1 : 0;
    settings.lane_weights[lane_place(LaneRole::kDecode)] = 8;
    settings.lane_weights[lane_place(LaneRole::kAugment)] = 4;
    settings.lane_weights[lane_place(LaneRole::kCollate)] = 4;
    return Loader::make(std::move(spec), source, {.budget = {.cpus = 2}, .settings = settings});
  }
};

/// Batches as digests, errors as "error <code>".
using Pass = std::vector<std::string>;

bool is_refusal(const Error& error) { return error.code == ErrorCode::kResourceExhausted; }

Pass drain(Iterator& iterator) {
  Pass pass;
  const auto until = std::chrono::steady_clock::now() + kHangs;
  while (std::chrono::steady_clock::now() < until) {
    const auto next = iterator.next(5ms);
    const Spared spared;
    if (!next) continue;
    if (std::holds_alternative<Runner::Finished>(*next)) return pass;
    if (const auto* error = std::get_if<Error>(&*next)) {
      pass.push_back(is_refusal(*error) ? "refused" : "error " + error->path);
      continue;
    }
    const auto& batch = std::get<Batch>(*next);
    std::string all;
    for (const Column& column : batch.plan->layout.columns()) {
      all.append(reinterpret_cast<const char*>(batch.slot.data() + column.offset), column.row_bytes * batch.rows);
    }
    pass.push_back(std::to_string(batch.rows) + " rows " + std::to_string(std::hash<std::string>{}(all)));
  }
  ADD_FAILURE() << "the pass hangs";
  std::abort();
}

Pass whole_pass(Loader& loader) {
  auto iterator = loader.iterate({});
  EXPECT_TRUE(iterator.ok()) << iterator.error().message;
  return iterator.ok() ? drain(**iterator) : Pass{};
}

/// One loader and one pass of it while some of what is asked is refused; then another pass without.
/// False once nothing was refused.
bool survives(const Case& tried, const Pass& expected, Refusals& refusals, long first, long count) {
  const std::size_t before = Engine::get().memory().used();
  Pass pass;
  bool refused = false;
  {
    refusals.arm(first, count);
    auto loader = tried.loader();
    if (loader.ok()) {
      auto iterator = (*loader)->iterate({});
      if (iterator.ok()) {
        pass = drain(**iterator);
        EXPECT_EQ(pass.size(), expected.size());
      } else {
        EXPECT_TRUE(is_refusal(iterator.error())) << iterator.error().message;
      }
    } else {
      EXPECT_TRUE(is_refusal(loader.error())) << loader.error().message;
    }
    refused = refusals.disarm();
    for (std::size_t i = 0; i < std::min(pass.size(), expected.size()); ++i) {
      EXPECT_TRUE(pass[i] == "refused" || pass[i] == expected[i]) << "batch " << i << ": " << pass[i];
    }
    if (!loader.ok()) loader = tried.loader();
    EXPECT_EQ(whole_pass(**loader), expected);
  }
  EXPECT_EQ(Engine::get().memory().used(), before) << "bytes were lost";
  return refused;
}

void try_all(const Case& tried, Refusals& refusals, long count = 1) {
  const Pass expected = whole_pass(**tried.loader());
  ASSERT_EQ(expected.size(), 3u);
  for (long first = 1; survives(tried, expected, refusals, first, count); ++first) {
    ASSERT_FALSE(::testing::Test::HasFailure()) << "with " << count << " refused from " << first << " on";
  }
}

TEST(ShortMemory, OneFailedAllocationOfPicturesInMemory) {
  try_all({in_memory(false)}, memory_refusals);
  try_all({in_memory(false), OnError::kRaise, false}, memory_refusals);
}

TEST(ShortMemory, OneFailedAllocationBesideABadSample) {
  for (const OnError on_error : {OnError::kRaise, OnError::kReplace, OnError::kSkip}) {
    for (const bool fused : {true, false}) {
      if (!full_tests() && fused != (on_error == OnError::kReplace)) continue;
      SCOPED_TRACE(std::to_string(static_cast<int>(on_error)) + (fused ? " fused" : " split"));
      try_all({in_memory(true), on_error, fused}, memory_refusals);
    }
  }
}

TEST(ShortMemory, OneFailedAllocationOfFiles) {
  const Files files;
  for (const char* reader : {"pread", "uring"}) {
    setenv("DRAPPS_IO", reader, 1);
    try_all({files.source(true), OnError::kSkip}, memory_refusals);
    try_all({files.source(false), OnError::kRaise, false}, memory_refusals);
  }
  unsetenv("DRAPPS_IO");
}

TEST(ShortMemory, OneFailedAllocationOfArrays) { try_all({in_arrays()}, memory_refusals); }

/// All documents and errors, where a read that finds no memory is called again.
std::vector<std::string> documents_of(const text::Corpus& corpus, int prepared) {
  std::vector<std::string> documents;
  for (const text::Block& block : corpus.blocks()) {
    std::unique_ptr<text::DocumentReader> reader;
    while (!catching([&] {
              reader = text::read_documents({corpus, *Storage::files(), MemoryLedger::unlimited()}, block);
            }).ok()) {
    }
    text::DocumentChunk some;
    for (bool more = true; more;) {
      for (int i = 0; i < prepared; ++i) static_cast<void>(reader->prepare());
      const auto read = reader->next(some);
      const Spared spared;
      if (!read.ok()) {
        EXPECT_TRUE(is_refusal(read.error())) << read.error().message;
        continue;
      }
      more = *read;
      for (const auto& one : some.each) {
        documents.push_back(
            std::to_string(one.at) + " " +
            (one.error < 0 ? std::string(some.at(one)) : some.errors[static_cast<std::size_t>(one.error)].to_string()));
      }
      if (more) documents.push_back("a piece with " + std::to_string(some.empty) + " empty ones");
      some.clear();
    }
  }
  return documents;
}

TEST(ShortMemory, OneFailedAllocationOfLines) {
  std::string lines;
  for (int i = 0; i < 6000; ++i) {
    const std::string text(static_cast<std::size_t>(i) * 7919 % 1000, static_cast<char>('a' + i % 26));
    lines += i == 3000 ? "no JSON\n" : "{\"text\": \"" + text + "\"}\n";
  }
  const Files files;
  const std::string path = files.put("lines", lines);
  for (const auto format : {text::DocumentFormat::kLines, text::DocumentFormat::kJsonLines}) {
    const auto corpus = *text::Corpus::open({path}, {.format = format});
    const auto expected = documents_of(*corpus, 0);
    EXPECT_GT(expected.size(), 5900u);
    for (const int prepared : {0, 1, 4}) {
      bool refused = true;
      long first = 1;
      for (; refused && !HasFailure(); ++first) {
        memory_refusals.arm(first, 1);
        const auto documents = documents_of(*corpus, prepared);
        refused = memory_refusals.disarm();
        EXPECT_TRUE(documents == expected) << "refused " << first << ", prepared " << prepared;
      }
      EXPECT_GT(first, 10);
    }
  }
}

TEST(ShortMemory, ManyFailedAllocationsInARow) {
  for (const auto& source : {in_memory(true), in_arrays()}) {
    try_all({source, OnError::kReplace}, memory_refusals, 100);
  }
}

TEST(ShortMemory, OneThreadThatCannotBeMade) {
#ifdef DRAPPS_THREADS_ARE_THE_SANITIZERS
  GTEST_SKIP() << "the sanitizer makes the threads";
#endif
  for (const auto& source : {in_memory(false), in_arrays()}) try_all({source}, thread_refusals);
}

}  // namespace
}  // namespace drapps

#endif  // DRAPPS_MEMORY_IS_THE_SANITIZERS
