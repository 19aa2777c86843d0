// What the tests of the readers share: every test with each of them.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "drapps/storage/reader.h"
#include "drapps/storage/testing.h"

namespace drapps::reader_testing {

class ReaderTest : public ::testing::TestWithParam<ReaderKind> {
 protected:
  std::unique_ptr<Reader> new_reader(ReadSink& sink, int depth = 4, ReadLimits limits = {}) {
    auto reader = make_reader({.kind = GetParam(), .depth = depth, .limits = limits}, sink);
    if (!reader.ok() && GetParam() == ReaderKind::kUring && reader.error().code == ErrorCode::kUnsupported)
      return nullptr;
    EXPECT_TRUE(reader.ok()) << reader.error().message;
    return std::move(*reader);
  }
  /// Reads record 0 of the file at `path`, which must fail.
  Error error_of(const std::string& path, ReadLimits limits = {}, MemoryLedger& ledger = MemoryLedger::unlimited()) {
    Recorder recorder;
    const auto reader = new_reader(recorder, 4, limits);
    OwnedRequest owned(path);
    owned.image = Buffer(ledger);
    reader->submit(owned.request);
    EXPECT_TRUE(recorder.wait_for(1));
    const Status status = recorder.outcomes()[0].status;
    EXPECT_FALSE(status.ok());
    if (status.ok()) return {};
    EXPECT_EQ(owned.request.failed, kFirstPart);
    EXPECT_EQ(status.error().stage, Stage::kFetch);
    const Status here = read_record(owned.request, limits);
    EXPECT_FALSE(here.ok());
    if (!here.ok()) {
      EXPECT_EQ(here.error().to_string(), status.error().to_string()) << "a worker says the same";
    }
    EXPECT_FALSE(try_read_record(owned.request, limits));
    return status.error();
  }
  void SetUp() override {
    Recorder recorder;
    if (new_reader(recorder) == nullptr) GTEST_SKIP() << "no io_uring here";
  }
  Folder folder_;
};

}  // namespace drapps::reader_testing
