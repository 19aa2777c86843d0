// Reading files of 100 KB: the time and the CPU of the whole process per record.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <deque>
#include <filesystem>
#include <fstream>
#include <string>

#include "drapps/base/clock.h"
#include "drapps/base/unique_handle.h"
#include "drapps/source/encoded.h"
#include "drapps/source/shard_source.h"
#include "drapps/storage/file_window.h"
#include "drapps/storage/reader.h"

namespace drapps {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kFiles = 512;
constexpr std::size_t kBytes = 100'000;

class Files {
 public:
  Files() {
    std::string pattern = (fs::temp_directory_path() / "drapps-bench-XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
    PathList paths;
    for (std::uint64_t i = 0; i < kFiles; ++i) {
      const std::string path = root_ + "/" + std::to_string(i);
      std::ofstream(path, std::ios::binary) << std::string(kBytes, 'x');
      (void)paths.append(path);
    }
    source_ = std::move(*FileSource::make(std::move(paths)));
  }
  ~Files() { fs::remove_all(root_); }
  Source& source() { return *source_; }

  /// Makes the next reading go to the disk.
  void forget() {
    for (std::uint64_t i = 0; i < kFiles; ++i) {
      const UniqueHandle file(::open(source_->locate(i, kFirstPart).path, O_RDONLY | O_CLOEXEC));
      (void)::fdatasync(file.get());
      (void)::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
    }
  }

 private:
  std::string root_;
  std::unique_ptr<FileSource> source_;
};

class Count final : public ReadSink {
 public:
  void read_done(ReadRequest&, Status) noexcept override {
    if (finished_.fetch_add(1) + 1 == kFiles) finished_.notify_one();
  }
  void wait() {
    for (std::uint64_t seen = finished_.load(); seen != kFiles; seen = finished_.load()) finished_.wait(seen);
    finished_ = 0;
  }

 private:
  std::atomic<std::uint64_t> finished_{0};
};

struct Requests {
  explicit Requests(const Source& source) {
    for (std::uint64_t i = 0; i < kFiles; ++i) {
      ReadRequest& request = requests.emplace_back();
      request.at[0] = source.locate(i, kFirstPart);
      request.parts = 1;
      request.into[0] = &buffers.emplace_back(MemoryLedger::unlimited());
    }
  }
  std::deque<Buffer> buffers;
  std::deque<ReadRequest> requests;
};

void report(benchmark::State& state, std::uint64_t cpu_ns) {
  const auto records = static_cast<double>(state.iterations()) * static_cast<double>(kFiles);
  state.SetItemsProcessed(static_cast<std::int64_t>(records));
  state.counters["cpu_us_per_record"] = static_cast<double>(cpu_ns) / 1000 / records;
}

void BM_Reader(benchmark::State& state, ReaderKind kind, bool cold) {
  Files files;
  Requests all(files.source());
  Count count;
  auto reader = make_reader({.kind = kind, .depth = static_cast<int>(state.range(0))}, count);
  if (!reader.ok()) return state.SkipWithError(reader.error().message.c_str());
  std::uint64_t cpu = 0;
  for (auto _ : state) {
    if (cold) {
      state.PauseTiming();
      files.forget();
      state.ResumeTiming();
    }
    const std::uint64_t before = process_cpu_ns();
    for (ReadRequest& request : all.requests) (*reader)->submit(request);
    count.wait();
    cpu += process_cpu_ns() - before;
  }
  report(state, cpu);
}
BENCHMARK_CAPTURE(BM_Reader, pread_warm, ReaderKind::kPread, false)->Arg(1)->Arg(4)->UseRealTime();
BENCHMARK_CAPTURE(BM_Reader, uring_warm, ReaderKind::kUring, false)->Arg(1)->Arg(4)->Arg(16)->UseRealTime();
BENCHMARK_CAPTURE(BM_Reader, pread_cold, ReaderKind::kPread, true)->Arg(1)->Arg(4)->Arg(16)->UseRealTime();
BENCHMARK_CAPTURE(BM_Reader, uring_cold, ReaderKind::kUring, true)->Arg(1)->Arg(4)->Arg(16)->UseRealTime();

template <class Read>
void read_here(benchmark::State& state, const Read& read) {
  Files files;
  Requests all(files.source());
  const std::uint64_t before = process_cpu_ns();
  for (auto _ : state) {
    for (ReadRequest& request : all.requests) {
      if (!read(request)) return state.SkipWithError("not read");
    }
  }
  report(state, process_cpu_ns() - before);
}
void BM_ReadRecord(benchmark::State& state) {
  read_here(state, [](ReadRequest& request) { return read_record(request).ok(); });
}
void BM_TryReadRecord(benchmark::State& state) {
  read_here(state, [](ReadRequest& request) { return try_read_record(request); });
}
/// Reads records of this many bytes each, eight to a shard. Run under `ulimit -n 64` for shards that are not kept
/// open.
void BM_TryReadShard(benchmark::State& state) {
  constexpr std::uint64_t kEach = 8;
  const auto bytes = static_cast<std::uint64_t>(state.range(0));
  std::string root = (fs::temp_directory_path() / "drapps-bench-XXXXXX").string();
  ::mkdtemp(root.data());
  PathList paths;
  std::vector<FileIdentity> identities;
  ShardRanges ranges;
  for (std::uint64_t i = 0; i < kFiles; ++i) {
    if (i % kEach == 0) {
      const std::string path = root + "/" + std::to_string(i);
      std::ofstream(path, std::ios::binary) << std::string(kEach * bytes, 'x');
      (void)paths.append(path);
      identities.push_back(FileWindow::open(path.c_str())->identity());
    }
    ranges.shard.push_back(static_cast<std::uint32_t>(i / kEach));
    ranges.offset.push_back(i % kEach * bytes);
    ranges.length.push_back(static_cast<std::uint32_t>(bytes));
  }
  {
    const auto source = std::move(*ShardSource::make(std::move(paths), identities, std::move(ranges)));
    Requests all(*source);
    const std::uint64_t before = process_cpu_ns();
    for (auto _ : state) {
      for (ReadRequest& request : all.requests) {
        if (!try_read_record(request)) return state.SkipWithError("not read");
      }
    }
    report(state, process_cpu_ns() - before);
  }
  fs::remove_all(root);
}
BENCHMARK(BM_TryReadShard)->Arg(784)->Arg(100'000)->UseRealTime();
BENCHMARK(BM_ReadRecord)->UseRealTime();
BENCHMARK(BM_TryReadRecord)->UseRealTime();

}  // namespace
}  // namespace drapps
