#include "drapps/storage/reader.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <initializer_list>
#include <memory>
#include <new>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "drapps/base/unique_handle.h"
#include "drapps/storage/reader_testing.h"
#include "drapps/storage/testing.h"

namespace {

std::atomic<std::uint64_t> g_allocations{0};

}  // namespace

// Counts what the whole program allocates, so that a test can say that reading allocates nothing. Weak, since a
// sanitizer brings its own.
[[gnu::weak]] void* operator new(std::size_t bytes) {
  g_allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* const memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}
[[gnu::weak]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::weak]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace drapps {
namespace {

using reader_testing::ReaderTest;
using testing::HasSubstr;

TEST_P(ReaderTest, ReadsImagesAndMasksWhole) {
  std::vector<std::string> images;
  std::vector<std::string> masks;
  for (std::uint64_t i = 0; i < 40; ++i) {
    images.push_back(folder_.put(std::to_string(i) + ".jpg", content_of(i, 1 + i * 7919)));
    masks.push_back(folder_.put(std::to_string(i) + ".png", content_of(1000 + i, 1 + i * 31)));
  }
  Recorder recorder;
  const auto reader = new_reader(recorder);
  std::deque<OwnedRequest> requests;
  for (std::uint64_t i = 0; i < 40; ++i) {
    const std::initializer_list<Location> parts{located(images[i]), located(masks[i])};
    reader->submit(requests.emplace_back(parts, i).request);
  }
  ASSERT_TRUE(recorder.wait_for(40));
  for (const auto& outcome : recorder.outcomes()) ASSERT_TRUE(outcome.status.ok());
  for (std::uint64_t i = 0; i < 40; ++i) {
    const ReadRequest& request = requests[i].request;
    EXPECT_EQ(text_of(request.bytes[0]), content_of(i, 1 + i * 7919));
    EXPECT_EQ(text_of(request.bytes[1]), content_of(1000 + i, 1 + i * 31));
    struct stat status{};
    ASSERT_EQ(::stat(masks[i].c_str(), &status), 0);
    EXPECT_EQ(request.identity[1],
              (FileIdentity{static_cast<std::uint64_t>(status.st_size),
                            status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec, status.st_ino}));
    EXPECT_GT(request.wall_ns, 0u);
  }
}

TEST_P(ReaderTest, MemoryCompletesInsideSubmitWithoutACopy) {
  const auto owner = std::make_shared<std::string>("abcdef");
  const auto* const data = reinterpret_cast<const std::uint8_t*>(owner->data());
  Recorder recorder;
  const auto reader = new_reader(recorder);
  ReadRequest request;
  request.parts = 2;
  request.at[0].bytes = {data, 4};
  request.at[1].bytes = {data + 4, 2};
  reader->submit(request);
  ASSERT_EQ(recorder.outcomes().size(), 1u);
  EXPECT_EQ(request.bytes[0].data(), data);
  EXPECT_EQ(request.bytes[1].data(), data + 4);
  EXPECT_EQ(request.identity[0].size, 4u);
  EXPECT_TRUE(try_read_record(request));

  request.at[0].bytes = {data + 4, std::size_t{0}};
  reader->submit(request);
  ASSERT_FALSE(recorder.outcomes()[1].status.ok());
  EXPECT_EQ(recorder.outcomes()[1].status.error().to_string(), read_record(request).error().to_string());
  EXPECT_THAT(recorder.outcomes()[1].status.error().message, HasSubstr("empty"));
}

TEST_P(ReaderTest, DepthOneReadsInTheOrderOfSubmission) {
  std::vector<std::string> images;
  for (std::uint64_t i = 0; i < 100; ++i)
    images.push_back(folder_.put(std::to_string(i), content_of(i, 1 + i % 7 * 50'000)));
  Recorder recorder;
  const auto reader = new_reader(recorder, 32);
  reader->set_depth(-5);
  std::deque<OwnedRequest> requests;
  for (std::uint64_t i = 0; i < 100; ++i) reader->submit(requests.emplace_back(images[i], i).request);
  ASSERT_TRUE(recorder.wait_for(100));
  for (std::uint64_t i = 0; i < 100; ++i) EXPECT_EQ(recorder.outcomes()[i].tag, i);
}

TEST_P(ReaderTest, ClosingCompletesEveryRequestExactlyOnce) {
  const std::string path = folder_.put("a", content_of(1, 300'000));
  for (int round = 0; round < 20; ++round) {
    Recorder recorder;
    std::deque<OwnedRequest> requests;
    {
      const auto reader = new_reader(recorder, 2);
      for (std::uint64_t i = 0; i < 200; ++i) reader->submit(requests.emplace_back(path, i).request);
    }
    std::vector<int> seen(200);
    for (const auto& outcome : recorder.outcomes()) {
      ++seen[outcome.tag];
      if (!outcome.status.ok()) {
        EXPECT_EQ(outcome.status.error().code, ErrorCode::kCancelled);
      }
    }
    for (const int times : seen) ASSERT_EQ(times, 1);
  }
}

TEST_P(ReaderTest, ReadingAllocatesNothingOnceBuffersHaveGrown) {
  std::vector<std::string> images;
  for (std::uint64_t i = 0; i < 16; ++i) images.push_back(folder_.put(std::to_string(i), content_of(i, 40'000)));
  Recorder recorder;
  const auto reader = new_reader(recorder, 8);
  std::deque<OwnedRequest> requests;
  for (std::uint64_t i = 0; i < 16; ++i) {
    const std::initializer_list<Location> parts{located(images[i]), located(images[i])};
    requests.emplace_back(parts, i);
  }
  if (g_allocations.load() == 0) GTEST_SKIP() << "a sanitizer allocates here";
  std::uint64_t before = 0;
  for (int round = 0; round < 50; ++round) {
    if (round == 2) before = g_allocations.load();
    for (OwnedRequest& owned : requests) reader->submit(owned.request);
    ASSERT_TRUE(recorder.wait_for(16));
    recorder.clear();
  }
  EXPECT_EQ(g_allocations.load(), before);
}

/// Each finished request is checked and submitted again for another record, until enough were read. The tag of each is
/// how many requests there are.
class Cycle final : public ReadSink {
 public:
  Cycle(const std::vector<std::string>& files, const std::vector<std::string>& contents, std::uint64_t goal)
      : files_(files), contents_(contents), goal_(goal) {}
  void start(Reader& reader) { reader_ = &reader; }

  void read_done(ReadRequest& request, Status status) noexcept override {
    const auto file = std::ranges::find(files_, request.at[0].path) - files_.begin();
    const auto place = static_cast<std::size_t>(file);
    if (!status.ok() || text_of(request.bytes[0]) != contents_[place]) failures_.fetch_add(1);
    const std::uint64_t finished = finished_.fetch_add(1) + 1;
    request.at[0] = located(files_[(place * 5 + 1) % files_.size()]);
    const std::uint64_t requests = request.tag;
    if (finished + requests > goal_) {
      if (retired_.fetch_add(1) + 1 == requests) retired_.notify_all();  // `request` may be gone
    } else {
      reader_->submit(request);
    }
  }
  void wait(std::uint64_t requests) {
    for (std::uint64_t seen = retired_.load(); seen != requests; seen = retired_.load()) retired_.wait(seen);
  }
  std::uint64_t finished() const { return finished_.load(); }
  int failures() const { return failures_.load(); }

 private:
  const std::vector<std::string>& files_;
  const std::vector<std::string>& contents_;
  const std::uint64_t goal_;
  Reader* reader_ = nullptr;
  std::atomic<std::uint64_t> finished_{0};
  std::atomic<std::uint64_t> retired_{0};
  std::atomic<int> failures_{0};
};

TEST_P(ReaderTest, DepthMayChangeAtAnyMomentWhileManyThreadsSubmit) {
  constexpr std::uint64_t kGoal = 6000;
  constexpr std::uint64_t kRequests = 96;
  std::vector<std::string> contents;
  std::vector<std::string> images;
  for (std::uint64_t i = 0; i < 64; ++i) {
    contents.push_back(content_of(i, 1 + i * 400));
    images.push_back(folder_.put(std::to_string(i), contents.back()));
  }
  Cycle cycle(images, contents, kGoal);
  const auto reader = new_reader(cycle, 3);
  cycle.start(*reader);
  std::deque<OwnedRequest> requests;
  for (std::uint64_t i = 0; i < kRequests; ++i) requests.emplace_back(images[i % 64], kRequests);
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t t = 0; t < 3; ++t) {
      threads.emplace_back([&, t] {
        for (std::uint64_t i = t; i < kRequests; i += 3) reader->submit(requests[i].request);
      });
    }
    threads.emplace_back([&](const std::stop_token& stop) {
      std::mt19937 random(9);
      while (!stop.stop_requested()) {
        reader->set_depth(1 + static_cast<int>(random() % 24));
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 300));
      }
    });
    cycle.wait(kRequests);
  }
  EXPECT_EQ(cycle.failures(), 0);
  EXPECT_GE(cycle.finished(), kGoal - kRequests);
}

TEST_P(ReaderTest, ItsEndInterruptsNoCallOfWhoMadeIt) {
  const std::string path = folder_.put("file", "content");
  {
    Recorder recorder;
    const auto reader = new_reader(recorder);
    OwnedRequest owned(path);
    reader->submit(owned.request);
    ASSERT_TRUE(recorder.wait_for(1));
  }
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const UniqueHandle out(ends[0]);
  UniqueHandle in(ends[1]);
  std::jthread slow([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    std::array<char, 4096> some{};
    while (::read(out.get(), some.data(), some.size()) > 0) continue;
  });
  const std::string text(std::size_t{1} << 20, 'x');  // more than a pipe has room for
  EXPECT_EQ(::write(in.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  in.reset();
}

INSTANTIATE_TEST_SUITE_P(Kinds, ReaderTest, testing::Values(ReaderKind::kPread, ReaderKind::kUring),
                         [](const auto& kind) {
                           return kind.param == ReaderKind::kPread ? std::string("Pread") : std::string("Uring");
                         });

TEST(TryReadTest, WarmFileIsReadAtOnce) {
  const Folder folder;
  const std::string path = folder.put("a", content_of(3, 70'000));
  OwnedRequest owned(path);
  if (!try_read_record(owned.request)) GTEST_SKIP() << "this kernel or file system does not say whether it would block";
  EXPECT_EQ(text_of(owned.request.bytes[0]), content_of(3, 70'000));
  EXPECT_EQ(owned.request.identity[0].size, 70'000u);
}

TEST(MakeReaderTest, EnvironmentForcesAReader) {
  Recorder recorder;
  ASSERT_EQ(::setenv("DRAPPS_IO", "pread", 1), 0);
  EXPECT_EQ((*make_reader({}, recorder))->kind(), ReaderKind::kPread);
  ASSERT_EQ(::setenv("DRAPPS_IO", "quantum", 1), 0);
  const auto refused = make_reader({}, recorder);
  EXPECT_EQ((*make_reader({.kind = ReaderKind::kPread}, recorder))->kind(), ReaderKind::kPread);
  ASSERT_EQ(::unsetenv("DRAPPS_IO"), 0);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("'quantum'"));
  EXPECT_TRUE(make_reader({}, recorder).ok()) << "without a word, whatever the kernel allows";
}

}  // namespace
}  // namespace drapps
