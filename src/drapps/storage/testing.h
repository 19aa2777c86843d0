// What the tests of reading share.
#pragma once

#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <mutex>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "drapps/storage/reader.h"

namespace drapps {

inline constexpr auto kDeadline = std::chrono::seconds(120);  // against hanging, not a matter of speed

/// Remembers how each request ended, in order. Allocates nothing for those that succeed.
class Recorder final : public ReadSink {
 public:
  struct Outcome {
    std::uint64_t tag;
    Status status;
  };
  explicit Recorder(std::size_t expected = 4096) { outcomes_.reserve(expected); }

  void read_done(ReadRequest& request, Status status) noexcept override {
    const std::lock_guard lock(mutex_);
    outcomes_.push_back({request.tag, std::move(status)});
    if (outcomes_.size() >= awaited_) done_.notify_all();
  }
  bool wait_for(std::size_t count) {
    std::unique_lock lock(mutex_);
    awaited_ = count;
    return done_.wait_for(lock, kDeadline, [&] { return outcomes_.size() >= count; });
  }
  std::vector<Outcome>& outcomes() { return outcomes_; }  // once all are awaited
  void clear() {
    const std::lock_guard lock(mutex_);
    outcomes_.clear();
  }

 private:
  std::mutex mutex_;  // guards the rest
  std::condition_variable done_;
  std::size_t awaited_ = 0;
  std::vector<Outcome> outcomes_;
};

inline std::string content_of(std::uint64_t index, std::size_t bytes) {
  std::mt19937 random(static_cast<std::uint32_t>(index));
  std::string text(bytes, '\0');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

inline std::string text_of(std::span<const std::uint8_t> bytes) { return {bytes.begin(), bytes.end()}; }

/// A folder of files that a test fills.
class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "drapps-reader-XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
  }
  ~Folder() { std::filesystem::remove_all(root_); }
  std::string path(const std::string& name) const { return root_ + "/" + name; }
  std::string put(const std::string& name, const std::string& content) const {
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
  }

 private:
  std::string root_;
};

inline Location located(const std::string& path) { return {.path = path.c_str(), .bytes = {}}; }

/// A request with memory of its own. Paths outlive it.
struct OwnedRequest {
  Buffer image{MemoryLedger::unlimited()};
  Buffer mask{MemoryLedger::unlimited()};
  ReadRequest request;

  explicit OwnedRequest(std::initializer_list<Location> parts, std::uint64_t tag = 0) {
    for (const Location& part : parts) request.at[request.parts++] = part;
    request.into = {&image, &mask};
    request.tag = tag;
  }
  explicit OwnedRequest(const std::string& path, std::uint64_t tag = 0) : OwnedRequest({located(path)}, tag) {}
};

}  // namespace drapps
