#include "drapps/decode/jpeg/index_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "drapps/decode/crc32.h"

namespace drapps::jpeg {
namespace {

using ::testing::HasSubstr;
using Bytes = std::vector<std::uint8_t>;

constexpr std::size_t kPlenty = 1 << 20;
constexpr std::uint64_t kRecords = 50;
constexpr IndexShape kRows{
    .mcus_across = 20, .mcus_down = 30, .group = 20, .headers = 0xFEDCBA98, .file_bytes = 0x1'0000'0001};
constexpr IndexShape kFine{.mcus_across = 17, .mcus_down = 3, .group = 8, .headers = 1, .file_bytes = 1'000'000};
constexpr FileIdentity kFile{.size = 0x1122334455667788, .mtime_ns = -5, .inode = ~std::uint64_t{0}};

std::vector<IndexEntry> entries(std::size_t count) {
  std::vector<IndexEntry> all(count);
  for (std::size_t i = 0; i < count; ++i) {
    all[i] = {.bit_high = static_cast<std::uint16_t>(i),
              .bit_low = 0xFFFE,
              .dc = {-32768, 32767, static_cast<std::int16_t>(i)}};
  }
  return all;
}

class IndexFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "drapps-index-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    path_ = folder_ / "photos.index";
    store_.offer({3, kFile}, kRows, entries(11));
    store_.offer({49, {.size = 7}}, kFine, entries(9));
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Bytes saved() {
    EXPECT_EQ(save_indexes(path_, store_).value(), 2u);
    return read();
  }
  Bytes read() const {
    std::ifstream file(path_, std::ios::binary);
    return Bytes(std::istreambuf_iterator<char>(file), {});
  }
  void write(std::string_view text) const { std::ofstream(path_, std::ios::binary) << text; }
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(folder_), std::filesystem::directory_iterator()));
  }

  std::filesystem::path folder_, path_;
  MemoryIndexStore store_{MemoryLedger::unlimited(), kRecords, kPlenty};
  MemoryIndexStore loaded_{MemoryLedger::unlimited(), kRecords, kPlenty};
};

void put(Bytes& bytes, std::size_t at, std::uint64_t value, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) bytes[at + i] = static_cast<std::uint8_t>(value >> 8 * i);
}

void repair_header(Bytes& bytes) { put(bytes, 8, crc32(std::span(bytes).subspan(12, 20)), 4); }

/// Of the first record, which has 11 entries.
void repair_record(Bytes& bytes) { put(bytes, 32, crc32(std::span(bytes).subspan(36, 170)), 4); }

Error error_of(const Bytes& bytes) {
  MemoryIndexStore store(MemoryLedger::unlimited(), kRecords, kPlenty);
  const Result<std::uint64_t> records = parse_indexes(bytes, store);
  return records.ok() ? Error{} : records.error();
}

TEST_F(IndexFile, GivesBackWhatWasSaved) {
  saved();
  ASSERT_EQ(load_indexes(path_, loaded_).value(), 2u);
  EXPECT_EQ(loaded_.bytes(), store_.bytes());
  ScanIndex index;
  ASSERT_TRUE(loaded_.get({3, kFile}, index));
  EXPECT_EQ(index.shape, kRows);
  EXPECT_EQ(index.entries, entries(11));
  ASSERT_TRUE(loaded_.get({49, {.size = 7}}, index));
  EXPECT_EQ(index.shape, kFine);
  EXPECT_EQ(index.entries, entries(9));
}

TEST_F(IndexFile, IsLaidOutAsItsHeaderSays) {
  const Bytes bytes = saved();
  ASSERT_EQ(bytes.size(), 32u + 64 + 110 + 64 + 90);
  Bytes expected(32 + 64 + 10);
  const std::uint8_t magic[] = {0x89, 'D', 'R', 'I', 'X', '\r', '\n', '\n'};
  std::copy(std::begin(magic), std::end(magic), expected.begin());
  put(expected, 8, crc32(std::span(bytes).subspan(12, 20)), 4);
  put(expected, 12, 1, 4);
  put(expected, 16, 2, 8);
  put(expected, 24, bytes.size(), 8);
  put(expected, 32, crc32(std::span(bytes).subspan(36, 170)), 4);
  put(expected, 36, 11, 4);
  put(expected, 40, 3, 8);
  put(expected, 48, 0x1122334455667788, 8);
  put(expected, 56, static_cast<std::uint64_t>(-5), 8);
  put(expected, 64, ~std::uint64_t{0}, 8);
  put(expected, 72, 20, 4);
  put(expected, 76, 30, 4);
  put(expected, 80, 20, 4);
  put(expected, 84, 0xFEDCBA98, 4);
  put(expected, 88, 0x1'0000'0001, 8);
  put(expected, 96, 0, 2);
  put(expected, 98, 0xFFFE, 2);
  put(expected, 100, 0x8000, 2);
  put(expected, 102, 0x7FFF, 2);
  put(expected, 104, 0, 2);
  EXPECT_EQ(Bytes(bytes.begin(), bytes.begin() + 106), expected);
}

TEST_F(IndexFile, AnEmptyStoreMakesAFileThatLoads) {
  EXPECT_EQ(save_indexes(path_, loaded_).value(), 0u);
  EXPECT_EQ(read().size(), kIndexHeaderBytes);
  EXPECT_EQ(load_indexes(path_, loaded_).value(), 0u);
}

TEST_F(IndexFile, ASmallerStoreTakesWhatItCan) {
  saved();
  MemoryIndexStore small(MemoryLedger::unlimited(), 4, kPlenty);
  EXPECT_EQ(load_indexes(path_, small).value(), 2u);
  EXPECT_EQ(small.statistics().records, 1u);
  MemoryIndexStore none(MemoryLedger::unlimited(), kRecords, 0);
  EXPECT_EQ(load_indexes(path_, none).value(), 2u);
  EXPECT_EQ(none.bytes(), 0u);
}

TEST_F(IndexFile, AChangedPictureGetsNothingFromIt) {
  saved();
  ASSERT_TRUE(load_indexes(path_, loaded_).ok());
  ScanIndex index;
  FileIdentity changed = kFile;
  ++changed.mtime_ns;
  EXPECT_FALSE(loaded_.get({3, changed}, index));
  EXPECT_FALSE(loaded_.get({3, kFile}, index));
}

TEST_F(IndexFile, SavingAgainReplacesTheWholeFile) {
  saved();
  store_.offer({3, kFile}, kRows, entries(30));
  EXPECT_EQ(save_indexes(path_, store_).value(), 2u);
  EXPECT_EQ(files(), 1u);
  ASSERT_TRUE(load_indexes(path_, loaded_).ok());
  EXPECT_EQ(loaded_.statistics().entries, 39u);
}

TEST_F(IndexFile, NoForeignFileIsOverwritten) {
  const auto refuses = [&] {
    const Result<std::uint64_t> records = save_indexes(path_, store_);
    return !records.ok() && records.error().code == ErrorCode::kInvalidArgument && records.error().path == path_ &&
           files() == 1;
  };
  for (const std::string& text : {std::string(),
                                  std::string("\x89"
                                              "DRIX"),
                                  std::string("a diary, page one")}) {
    write(text);
    EXPECT_TRUE(refuses()) << text;
    EXPECT_EQ(read(), Bytes(text.begin(), text.end()));
    std::filesystem::remove(path_);
  }
  std::filesystem::create_directory(path_);
  EXPECT_TRUE(refuses());
  std::filesystem::remove(path_);
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_TRUE(refuses());
  std::filesystem::remove(path_);
  std::filesystem::create_symlink("nowhere", path_);
  EXPECT_TRUE(refuses());
}

TEST_F(IndexFile, AMissingFolderAndAMissingFileAreNamed) {
  const std::string lost = (folder_ / "no/such").string();
  const Error not_saved = save_indexes(lost, store_).error();
  EXPECT_EQ(not_saved.code, ErrorCode::kNotFound);
  EXPECT_EQ(not_saved.path, lost);
  const Error not_loaded = load_indexes(lost, store_).error();
  EXPECT_EQ(not_loaded.code, ErrorCode::kNotFound);
  EXPECT_THAT(not_loaded.to_string(), HasSubstr(lost));
  EXPECT_EQ(load_indexes(folder_, store_).error().code, ErrorCode::kUnsupported);
}

TEST_F(IndexFile, AFailedWriteLeavesTheOldFileAndNothingElse) {
  const Bytes before = saved();
  store_.offer({3, kFile}, kRows, entries(30));
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit small{100, limit.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const Result<std::uint64_t> records = save_indexes(path_, store_);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(records.ok());
  EXPECT_EQ(records.error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(records.error().path, path_);
  EXPECT_EQ(read(), before);
  EXPECT_EQ(files(), 1u);
}

TEST_F(IndexFile, EveryCutIsTruncationOrNoIndexFile) {
  const Bytes whole = saved();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    const Error error = error_of(cut);
    ASSERT_EQ(error.code, size < 8 ? ErrorCode::kUnsupported : ErrorCode::kTruncated) << size;
  }
  std::filesystem::resize_file(path_, 100);
  const Error error = load_indexes(path_, loaded_).error();
  EXPECT_EQ(error.code, ErrorCode::kTruncated);
  EXPECT_EQ(error.path, path_);
  EXPECT_THAT(error.message, HasSubstr("delete it"));
  EXPECT_EQ(loaded_.statistics().records, 0u);
}

TEST_F(IndexFile, EveryFlippedBitIsFound) {
  const Bytes whole = saved();
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      Bytes bytes = whole;
      bytes[at] ^= static_cast<std::uint8_t>(1 << bit);
      ASSERT_NE(error_of(bytes).code, ErrorCode::kInvalidArgument) << at;
    }
  }
}

TEST_F(IndexFile, RecordsBeforeTheDamageAreKept) {
  Bytes bytes = saved();
  bytes.back() ^= 1;
  const Result<std::uint64_t> records = parse_indexes(bytes, loaded_);
  ASSERT_FALSE(records.ok());
  EXPECT_EQ(records.error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(records.error().offset, 32 + 64 + 110);
  EXPECT_EQ(loaded_.statistics().entries, 11u);
}

TEST_F(IndexFile, ANewerVersionIsRefusedByNumber) {
  Bytes bytes = saved();
  put(bytes, 12, 2, 4);
  const Error error = error_of(bytes);
  EXPECT_EQ(error.code, ErrorCode::kUnsupported);
  EXPECT_THAT(error.message, HasSubstr("version 2"));
  EXPECT_THAT(error.message, HasSubstr("upgrade"));
  put(bytes, 12, 0, 4);
  repair_header(bytes);
  EXPECT_EQ(error_of(bytes).code, ErrorCode::kCorrupt);
}

TEST_F(IndexFile, CountsThatTheFileCannotHoldAreRefused) {
  const Bytes whole = saved();
  for (const std::uint64_t records : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{3}, ~std::uint64_t{0}}) {
    Bytes bytes = whole;
    put(bytes, 16, records, 8);
    repair_header(bytes);
    EXPECT_EQ(error_of(bytes).code, ErrorCode::kCorrupt) << records;
  }
  for (const std::uint64_t size : {whole.size() - 1, whole.size() + 1, ~std::size_t{0}}) {
    Bytes bytes = whole;
    put(bytes, 24, size, 8);
    repair_header(bytes);
    EXPECT_EQ(error_of(bytes).code, size < whole.size() ? ErrorCode::kCorrupt : ErrorCode::kTruncated) << size;
  }
  for (const std::uint64_t count : {0ull, 31ull, 0xFFFFFFFFull}) {
    Bytes bytes = whole;
    put(bytes, 36, count, 4);
    EXPECT_EQ(error_of(bytes).code, ErrorCode::kCorrupt) << count;
  }
  // A picture that may have so many entries, in a file that does not.
  Bytes bytes = whole;
  put(bytes, 36, 8'000'000, 4);
  put(bytes, 72, 8192, 4);
  put(bytes, 76, 8192, 4);
  put(bytes, 80, 8, 4);
  EXPECT_THAT(error_of(bytes).message, HasSubstr("impossible size"));
}

TEST_F(IndexFile, RecordsOutOfOrderAndPositionsThatGoBackwardsAreRefused) {
  const Bytes whole = saved();
  Bytes bytes = whole;
  put(bytes, 40, 49, 8);
  repair_record(bytes);
  EXPECT_THAT(error_of(bytes).message, HasSubstr("out of order"));
  bytes = whole;
  put(bytes, 106, 0, 4);  // the second entry, before the first
  repair_record(bytes);
  EXPECT_THAT(error_of(bytes).message, HasSubstr("positions"));
  bytes = whole;
  put(bytes, 88, 1000, 8);  // bytes of the picture's file
  repair_record(bytes);
  EXPECT_THAT(error_of(bytes).message, HasSubstr("positions"));
  bytes = whole;
  put(bytes, 40, 4, 8);
  repair_record(bytes);
  EXPECT_EQ(error_of(bytes).message, "");
}

}  // namespace
}  // namespace drapps::jpeg
