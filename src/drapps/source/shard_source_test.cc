#include "drapps/source/shard_source.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <deque>

#include "drapps/source/encoded.h"
#include "drapps/storage/file_window.h"
#include "drapps/storage/testing.h"

namespace drapps {
namespace {

/// A request for a record of a source.
struct SourceRequest : OwnedRequest {
  explicit SourceRequest(const Source& source, std::uint64_t index, std::uint64_t tag = 0) : OwnedRequest({}, tag) {
    request.parts = static_cast<std::uint8_t>(source.parts().size());
    for (RecordPart part = kFirstPart; part < request.parts; ++part) request.at[part] = source.locate(index, part);
  }
};

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr std::size_t kEach = 8;  // records in a shard of the tests

std::uint64_t open_descriptors() {
  std::uint64_t count = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

/// Shards of records of rising sizes, and where they lie.
struct Set {
  std::vector<std::string> paths;
  std::vector<FileIdentity> identities;
  ShardRanges ranges;
  std::vector<std::string> contents;

  Set(const Folder& folder, std::size_t shards, std::size_t step = 137) {
    for (std::size_t s = 0; s < shards; ++s) {
      std::string bytes = "something before";
      for (std::size_t i = 0; i < kEach; ++i) {
        contents.push_back(content_of(s * kEach + i, 1 + i * step));
        ranges.shard.push_back(static_cast<std::uint32_t>(s));
        ranges.offset.push_back(bytes.size());
        ranges.length.push_back(static_cast<std::uint32_t>(contents.back().size()));
        bytes += contents.back() + "between";
      }
      paths.push_back(folder.put("shard-" + std::to_string(s), bytes));
      identities.push_back(FileWindow::open(paths.back().c_str())->identity());
    }
  }
  Result<std::unique_ptr<ShardSource>> source() const {
    PathList list;
    for (const std::string& path : paths) EXPECT_TRUE(list.append(path).ok());
    return ShardSource::make(std::move(list), identities, ranges);
  }
};

class ShardTest : public testing::TestWithParam<ReaderKind> {
 protected:
  std::unique_ptr<Reader> new_reader(ReadSink& sink) {
    auto reader = make_reader({.kind = GetParam(), .depth = 8, .limits = {}}, sink);
    return reader.ok() ? std::move(*reader) : nullptr;
  }
  void SetUp() override {
    Recorder recorder;
    if (new_reader(recorder) == nullptr) GTEST_SKIP() << "no io_uring here";
  }
  Status read(SourceRequest& owned) {
    Recorder recorder;
    const auto reader = new_reader(recorder);
    reader->submit(owned.request);
    EXPECT_TRUE(recorder.wait_for(1));
    return recorder.outcomes()[0].status;
  }
  Folder folder_;
};

TEST_P(ShardTest, RecordsAreTheirRangesOfTheFile) {
  const Set set(folder_, 5, 40'009);
  const auto source = std::move(*set.source());
  Recorder recorder;
  const auto reader = new_reader(recorder);
  for (int epoch = 0; epoch < 2; ++epoch) {
    std::deque<SourceRequest> requests;
    for (std::uint64_t i = 0; i < source->size(); ++i) reader->submit(requests.emplace_back(*source, i, i).request);
    ASSERT_TRUE(recorder.wait_for(requests.size()));
    for (const auto& outcome : recorder.outcomes()) ASSERT_TRUE(outcome.status.ok());
    recorder.clear();
    for (std::uint64_t i = 0; i < source->size(); ++i) {
      EXPECT_EQ(text_of(requests[i].request.bytes[0]), set.contents[i]);
      EXPECT_EQ(requests[i].request.identity[0].size, set.contents[i].size());
      EXPECT_EQ(source->hint(i).bytes, set.contents[i].size());
      ASSERT_TRUE(read_record(requests[i].request).ok());
      EXPECT_EQ(text_of(requests[i].request.bytes[0]), set.contents[i]);
      if (try_read_record(requests[i].request)) {
        EXPECT_EQ(text_of(requests[i].request.bytes[0]), set.contents[i]);
      }
    }
  }
}

TEST_P(ShardTest, MasksMayLieInOtherShardsThanTheirImages) {
  const Set set(folder_, 2);
  ShardRanges images;
  ShardRanges masks;
  for (std::size_t i = 0; i < kEach; ++i) {
    for (const auto& [to, from] : {std::pair{&images, i}, {&masks, kEach + i}}) {
      to->shard.push_back(set.ranges.shard[from]);
      to->offset.push_back(set.ranges.offset[from]);
      to->length.push_back(set.ranges.length[from]);
    }
  }
  PathList paths;
  for (const std::string& path : set.paths) ASSERT_TRUE(paths.append(path).ok());
  const auto source = std::move(*ShardSource::make(std::move(paths), set.identities, images, masks));
  ASSERT_TRUE(source->part_named(kMaskName).has_value());
  for (std::uint64_t i = 0; i < kEach; ++i) {
    SourceRequest owned(*source, i);
    ASSERT_TRUE(read(owned).ok());
    EXPECT_EQ(text_of(owned.request.bytes[0]), set.contents[i]);
    EXPECT_EQ(text_of(owned.request.bytes[1]), set.contents[kEach + i]);
  }
}

TEST_P(ShardTest, ImageInAFileMayHaveItsMaskInMemory) {
  const auto owner = std::make_shared<std::string>("abcdef");
  const auto* const data = reinterpret_cast<const std::uint8_t*>(owner->data());
  PathList files;
  ASSERT_TRUE(files.append(folder_.put("image", "from a file")).ok());
  const auto source =
      std::move(*MemorySource::make({{}, {data, 2}}, owner, {{data + 2, 4}, {data, 0}}, {}, std::move(files)));
  SourceRequest owned(*source, 0);
  ASSERT_TRUE(read(owned).ok());
  EXPECT_EQ(text_of(owned.request.bytes[0]), "from a file");
  EXPECT_EQ(text_of(owned.request.bytes[1]), "cdef");
  SourceRequest without_mask(*source, 1);
  EXPECT_FALSE(read(without_mask).ok());
  EXPECT_EQ(source->name(1, without_mask.request.failed), "memory[1].mask");
}

TEST_P(ShardTest, ShardThatChangedIsAnErrorNamingShardAndRecord) {
  const Set set(folder_, 2);
  // Once before it is opened for the first time, once while it is kept open.
  for (const bool read_before : {false, true}) {
    const auto source = std::move(*set.source());
    SourceRequest owned(*source, 3);
    if (read_before) {
      ASSERT_TRUE(read(owned).ok());
    }
    const std::string named = set.paths[0] + "[" + std::to_string(set.ranges.offset[3]) + ":" +
                              std::to_string(set.ranges.offset[3] + set.ranges.length[3]) + "]";
    const auto expect_error = [&](ErrorCode code, const char* text) {
      const Status status = read(owned);
      ASSERT_FALSE(status.ok());
      EXPECT_EQ(status.error().code, code);
      EXPECT_EQ(status.error().stage, Stage::kFetch);
      EXPECT_EQ(source->name(3, owned.request.failed), named);
      EXPECT_THAT(status.error().message, HasSubstr(text));
      EXPECT_EQ(read_record(owned.request).error().to_string(), status.error().to_string()) << "a worker says the same";
      EXPECT_FALSE(try_read_record(owned.request));
    };
    const auto size = set.identities[0].size;
    fs::resize_file(set.paths[0], size - 1);
    expect_error(ErrorCode::kTruncated, "its index says");
    fs::resize_file(set.paths[0], size);
    expect_error(ErrorCode::kCorrupt, "changed since its index was made");
    SourceRequest other(*source, kEach);
    EXPECT_TRUE(read(other).ok()) << "other shards are read on";

    // As it was: for the next round.
    timespec times[2] = {
        {.tv_sec = 0, .tv_nsec = UTIME_OMIT},
        {.tv_sec = set.identities[0].mtime_ns / 1'000'000'000, .tv_nsec = set.identities[0].mtime_ns % 1'000'000'000}};
    ASSERT_EQ(::utimensat(AT_FDCWD, set.paths[0].c_str(), times, 0), 0);
    EXPECT_TRUE(read(owned).ok());
  }
  fs::remove(set.paths[1]);
  const auto source = std::move(*set.source());
  SourceRequest owned(*source, kEach);
  EXPECT_EQ(read(owned).error().code, ErrorCode::kNotFound);
}

TEST_P(ShardTest, EmptyAndLargeRecordsAreRefused) {
  Set set(folder_, 1);
  set.ranges.length[0] = 0;
  const auto source = std::move(*set.source());
  SourceRequest owned(*source, 0);
  EXPECT_EQ(read(owned).error().code, ErrorCode::kTruncated);
  EXPECT_THAT(read(owned).error().message, HasSubstr("record is empty"));
  SourceRequest large(*source, 7);
  EXPECT_EQ(read_record(large.request, {.max_file_bytes = 100}).error().code, ErrorCode::kTooLarge);
  SourceRequest small(*source, 1);
  EXPECT_GT(set.identities[0].size, 1000u);
  EXPECT_TRUE(read_record(small.request, {.max_file_bytes = 1000}).ok()) << "the limit is the record's";
}

TEST_P(ShardTest, DescriptorsStayBoundedAndGoWithTheSource) {
  const std::uint64_t before = open_descriptors();
  {
    const Set set(folder_, static_cast<std::size_t>(kept_shards_limit()) + 40, 1);
    const auto source = std::move(*set.source());
    {
      Recorder recorder;
      const auto reader = new_reader(recorder);
      std::deque<SourceRequest> requests;
      for (std::uint64_t i = 0; i < source->size(); ++i) reader->submit(requests.emplace_back(*source, i, i).request);
      ASSERT_TRUE(recorder.wait_for(requests.size()));
      for (std::uint64_t i = 0; i < source->size(); ++i) {
        ASSERT_TRUE(recorder.outcomes()[i].status.ok());
        ASSERT_EQ(text_of(requests[i].request.bytes[0]), set.contents[i]);
      }
    }
    EXPECT_EQ(open_descriptors(), before + static_cast<std::uint64_t>(kept_shards_limit()));
  }
  EXPECT_EQ(open_descriptors(), before);
}

INSTANTIATE_TEST_SUITE_P(Readers, ShardTest, testing::Values(ReaderKind::kPread, ReaderKind::kUring),
                         [](const auto& kind) { return kind.param == ReaderKind::kPread ? "pread" : "uring"; });

TEST(ShardSource, RefusesRangesOutsideTheirShards) {
  const Folder folder;
  const auto code = [&](auto&& change) {
    Set set(folder, 2);
    change(set);
    const auto source = set.source();
    return source.ok() ? std::string("made") : std::string(name_of(source.error().code));
  };
  const std::string refused(name_of(ErrorCode::kInvalidArgument));
  EXPECT_EQ(code([](Set&) {}), "made");
  EXPECT_EQ(code([](Set& set) { set.ranges.shard[3] = 2; }), refused);
  EXPECT_EQ(code([](Set& set) { set.ranges.offset[3] = set.identities[0].size; }), refused);
  EXPECT_EQ(code([](Set& set) { set.ranges.offset[3] = ~std::uint64_t{0}; }), refused);
  EXPECT_EQ(code([](Set& set) { set.ranges.length[3] = UINT32_MAX; }), refused);
  EXPECT_EQ(code([](Set& set) { set.ranges.length.pop_back(); }), refused);
  EXPECT_EQ(code([](Set& set) { set.identities.pop_back(); }), refused);
}

TEST(Shard, RecordIdentityChangesWithShardAndRange) {
  Shard shard;
  shard.set_identity({.size = 1000, .mtime_ns = 5, .inode = 7});
  const FileIdentity first = shard.record_identity(10, 20);
  EXPECT_EQ(first.size, 20u);
  EXPECT_EQ(shard.record_identity(10, 20), first);
  EXPECT_NE(shard.record_identity(11, 20), first);
  EXPECT_NE(shard.record_identity(10, 21), first);
  for (const FileIdentity other : {FileIdentity{1001, 5, 7}, {1000, 6, 7}, {1000, 5, 8}}) {
    shard.set_identity(other);
    EXPECT_NE(shard.record_identity(10, 20), first);
  }
}

TEST(MemorySource, RecordsWithoutBytesAreFiles) {
  const Folder folder;
  const auto owner = std::make_shared<std::string>("abcdef");
  const auto* const data = reinterpret_cast<const std::uint8_t*>(owner->data());
  const auto source = [&](const std::vector<std::string>& files) {
    PathList list;
    for (const std::string& path : files) EXPECT_TRUE(list.append(path).ok());
    return MemorySource::make({{}, {data, 4}, {}, {data + 4, 2}}, owner, {}, {}, std::move(list));
  };
  EXPECT_FALSE(source({"one"}).ok());
  const auto mixed = std::move(*source({folder.put("first", "1st"), folder.put("second", "2nd")}));
  const char* const expected[] = {"1st", "abcd", "2nd", "ef"};
  for (std::uint64_t i = 0; i < 4; ++i) {
    SourceRequest owned(*mixed, i);
    ASSERT_TRUE(read_record(owned.request).ok());
    EXPECT_EQ(text_of(owned.request.bytes[0]), expected[i]);
  }
  EXPECT_EQ(mixed->name(1, kFirstPart), "memory[1]");
  EXPECT_EQ(mixed->name(2, kFirstPart), folder.path("second"));
}

}  // namespace
}  // namespace drapps
