#include "drapps/storage/storage.h"

#include <time.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "drapps/base/clock.h"
#include "drapps/base/mount_info.h"
#include "drapps/base/never_destroyed.h"
#include "drapps/base/philox.h"
#include "drapps/storage/read_file.h"
#include "drapps/storage/storage_reader.h"

namespace drapps {
namespace {

class Files final : public Storage {
 public:
  Files() noexcept : Storage({}) {}
  std::string_view kind() const noexcept override { return "files"; }
  bool page_cached() const noexcept override { return true; }

 private:
  Result<std::unique_ptr<Reader>> make_plain_reader(const ReaderOptions& options, ReadSink& sink) override {
    return drapps::make_reader(options, sink);
  }
  Status read_once(ReadRequest& request, const ReadLimits& limits, const std::function<bool()>&) override {
    return read_record(request, limits);
  }
  bool try_read_once(ReadRequest& request, const ReadLimits& limits) override {
    return try_read_record(request, limits);
  }
};

constexpr std::uint64_t kStopLookNs = 50'000'000;

}  // namespace

const std::shared_ptr<Storage>& Storage::files() {
  static const NeverDestroyed<const std::shared_ptr<Storage>> files(std::make_shared<Files>());
  return *files;
}

StorageIdentity Storage::describe(const std::string& path, const std::string& root) const {
  StorageIdentity identity{.kind = std::string(kind()), .path = path};
  std::error_code failed;
  const auto absolute = std::filesystem::absolute(path, failed);
  const auto place = failed ? absolute : std::filesystem::weakly_canonical(absolute, failed);
  std::ifstream file(root + "/proc/self/mountinfo");
  const auto mounts = parse_mount_info(std::string(std::istreambuf_iterator<char>(file), {}));
  if (const MountEntry* const mount = failed ? nullptr : mount_of(mounts, place.native())) {
    identity.mount = mount->point;
    identity.filesystem = mount->filesystem;
    identity.device = mount->device;
  }
  return identity;
}

Result<std::unique_ptr<Reader>> Storage::make_reader(const ReaderOptions& options, ReadSink& sink) {
  auto reader = std::make_unique<StorageReader>(*this, sink);
  auto plain = make_plain_reader(options, *reader);
  if (!plain.ok()) return std::move(plain).error();
  reader->start(*std::move(plain));
  return std::unique_ptr<Reader>(std::move(reader));
}

Status Storage::read(ReadRequest& request, const ReadLimits& limits, const std::function<bool()>& stopped) {
  meter_.in_flight.fetch_add(1, std::memory_order_relaxed);
  if (request.tries == 0) begin_tries(request);
  Status status = read_once(request, limits, stopped);
  while (const std::uint64_t pause = pause_before_retry(request, status)) {
    status = wait_until(monotonic_ns() + pause, stopped) ? read_once(request, limits, stopped) : cancelled();
  }
  count(request, status);
  request.tries = 0;
  return status;
}

bool Storage::try_read(ReadRequest& request, const ReadLimits& limits) {
  if (!try_read_once(request, limits)) return false;
  meter_.bytes.fetch_add(request.bytes_read(), std::memory_order_relaxed);
  meter_.at_once.record(request.wall_ns);
  return true;
}

void Storage::begin_tries(ReadRequest& request) noexcept {
  request.tries = 0;
  request.begun_ns = request.wall_ns = request.cpu_ns = 0;
  request.first_try_ns = monotonic_ns();
}

std::uint64_t Storage::pause_before_retry(ReadRequest& request, Status& status) {
  if (status.ok() || status.error().code != ErrorCode::kUnavailable) return 0;
  meter_.refusals.fetch_add(1, std::memory_order_relaxed);
  const std::uint64_t now = monotonic_ns();
  if (request.tries == 0) request.tried_since_ns = now - request.wall_ns;  // it may have waited for its turn before
  const std::uint64_t pause = pause_ns(retry_, ++request.tries, now);
  const auto deadline = static_cast<std::uint64_t>(retry_.deadline.count());
  if (now + pause - request.tried_since_ns > deadline) {
    Error& error = status.error();
    error.message += "; it was tried " + std::to_string(request.tries) + " times in " +
                     std::to_string((now - request.tried_since_ns) / 1'000'000'000) + " s: see why the storage (" +
                     std::string(kind()) + ") does not give it, or read with fewer workers and a smaller io_depth";
    return 0;
  }
  meter_.retries.fetch_add(1, std::memory_order_relaxed);
  return pause;
}

void Storage::count(ReadRequest& request, const Status& status) noexcept {
  meter_.in_flight.fetch_sub(1, std::memory_order_relaxed);
  if (status.ok()) {
    meter_.bytes.fetch_add(request.bytes_read(), std::memory_order_relaxed);
    meter_.waited.record(request.wall_ns);
    request.tries = 0;
  } else {
    meter_.failures.fetch_add(1, std::memory_order_relaxed);
  }
}

bool wait_until(std::uint64_t moment_ns, const std::function<bool()>& stopped) {
  for (std::uint64_t now = monotonic_ns(); now < moment_ns; now = monotonic_ns()) {
    const std::uint64_t next = std::min(moment_ns, now + kStopLookNs);
    const timespec at{.tv_sec = static_cast<time_t>(next / 1'000'000'000),
                      .tv_nsec = static_cast<long>(next % 1'000'000'000)};
    (void)::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr);
    if (stopped && stopped()) return false;
  }
  return true;
}

std::uint64_t pause_ns(const RetryOptions& options, std::uint32_t tries, std::uint64_t random) noexcept {
  const auto first = static_cast<std::uint64_t>(options.first_pause.count());
  const auto longest = static_cast<std::uint64_t>(options.longest_pause.count());
  const std::uint64_t whole = std::min(longest, first << std::min(tries - 1, 16u));
  const std::uint64_t half = whole / 2;
  return half + Draws({.seed = random, .position = tries}, 0).u32() % (whole - half + 1);
}

}  // namespace drapps
