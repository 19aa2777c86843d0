// What bytes come from: files, or something that behaves like a slower storage than this machine has.
//
//   auto reader = storage.make_reader({.depth = 8}, sink);
//   if (!storage.try_read(request)) (*reader)->submit(request);
//
// A storage makes the readers of its records. All of them count on its meter, and try again what it refuses for a
// while: with a pause that doubles, from 50 ms to 5 s, and is cut short at random, so that many who were refused at
// once do not come back at once. After the deadline the last refusal is the record's error. A read that does not end is
// a refusal, too, where a storage can tell that it will not end in time.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "drapps/storage/meter.h"
#include "drapps/storage/reader.h"

namespace drapps {

struct RetryOptions {
  std::chrono::nanoseconds first_pause = std::chrono::milliseconds(50);
  std::chrono::nanoseconds longest_pause = std::chrono::seconds(5);
  std::chrono::nanoseconds deadline = std::chrono::seconds(60);  // from the first try
};

/// What a storage is, as far as a file of it tells. Empty is what is not known.
struct StorageIdentity {
  std::string kind{};        // "files", "emulated"; "memory" for records that no storage is needed for
  std::string path{};        // the file that was asked about
  std::string mount{};       // the mount point on which it lies
  std::string filesystem{};  // the type of what is mounted there: "ext4", "nfs4"
  std::string device{};      // what was mounted there: "/dev/sda1", "server:/export"
};

/// Every member may be called from any thread.
class Storage {
 public:
  virtual ~Storage() = default;
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  /// The files of this machine; of the whole process.
  static const std::shared_ptr<Storage>& files();

  /// "files", "emulated".
  virtual std::string_view kind() const noexcept = 0;
  /// Whether what is read stays in this machine's page cache, for as long as there is memory for it.
  virtual bool page_cached() const noexcept { return false; }
  /// What this storage is where the file at `path` lies; of an emulated one, what holds the bytes. The file need not be
  /// there. Asks the file system where symbolic links lead to, which may take as long as opening the file.
  /// @param root  put before /proc/self/mountinfo; for tests.
  StorageIdentity describe(const std::string& path, const std::string& root = {}) const;
  const StorageMeter& meter() const noexcept { return meter_; }
  const RetryOptions& retry() const noexcept { return retry_; }

  /// @param sink  outlives the reader, and so does this storage. Fails as drapps::make_reader() does.
  Result<std::unique_ptr<Reader>> make_reader(const ReaderOptions& options, ReadSink& sink);
  /// Reads a record here and now, blocking, retries and all; after a reader has given up what was refused, once.
  /// @param stopped  asked where it has to wait, some times a second: true ends that, and the record is kCancelled.
  Status read(ReadRequest& request, const ReadLimits& limits = {}, const std::function<bool()>& stopped = {});
  /// Reads a record here and now if nothing has to wait. False where something would; nothing is then answered.
  bool try_read(ReadRequest& request, const ReadLimits& limits = {});

 protected:
  explicit Storage(const RetryOptions& retry) noexcept : retry_(retry) {}

 private:
  friend class StorageReader;
  static void begin_tries(ReadRequest& request) noexcept;
  /// How long to wait before a request that ended so is tried again; 0: it has ended, and a refusal says how often it
  /// was tried.
  std::uint64_t pause_before_retry(ReadRequest& request, Status& status);
  void count(ReadRequest& request, const Status& status) noexcept;

  /// Without retries and counts. A refusal has the code kUnavailable.
  virtual Result<std::unique_ptr<Reader>> make_plain_reader(const ReaderOptions& options, ReadSink& sink) = 0;
  virtual Status read_once(ReadRequest& request, const ReadLimits& limits, const std::function<bool()>& stopped) = 0;
  virtual bool try_read_once(ReadRequest& request, const ReadLimits& limits) = 0;

  const RetryOptions retry_;
  StorageMeter meter_;
};

/// Waits until `moment_ns` on CLOCK_MONOTONIC, blocking.
/// @param stopped  may be empty; asked some times a second, and at the end. False where it has become true.
bool wait_until(std::uint64_t moment_ns, const std::function<bool()>& stopped);

/// The pause before try number `tries` (from 1), at random between a half and the whole of it.
std::uint64_t pause_ns(const RetryOptions& options, std::uint32_t tries, std::uint64_t random) noexcept;

}  // namespace drapps
