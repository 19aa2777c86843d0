// A process that was started apart fills a window: all that it is given is a description, which it reads from a pipe.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "drapps/base/clock.h"
#include "drapps/base/unique_handle.h"
#include "drapps/control/loader.h"
#include "drapps/modality/test_pictures.h"
#include "drapps/pipeline/window_methods.h"
#include "drapps/source/encoded.h"
#include "drapps/storage/testing.h"

namespace drapps {
namespace apart {
namespace {

using namespace std::chrono_literals;

constexpr const char* kFiller = "ApartFiller.DISABLED_Sends";
constexpr int kIn = 10, kOut = 11;  // where the process that was started apart finds its pipes

/// What another process has sent as one batch: bytes, or why there are none.
struct Envelopes {
  using Place = std::unique_ptr<std::string>;
  using Held = std::shared_ptr<const std::string>;
  using Taken = Held;

  static Result<Place> acquire() { return std::make_unique<std::string>(); }
  static void abandon(const Place&) noexcept {}
  static bool completes() noexcept { return false; }
  static std::optional<Error> complete(const Place&, std::uint64_t, std::uint32_t&, std::vector<FailedRow>& failed) {
    return std::move(failed.front().second);
  }
  static Held yield(Place place, std::uint64_t, std::uint32_t) { return place; }
  static Taken taken(const Held& held, std::uint64_t, std::uint32_t, std::uint64_t) { return held; }
};

/// Whether so many bytes came.
bool read_all(int fd, std::string& into, std::size_t size) {
  for (std::size_t at = 0; at < size;) {
    into.resize(size);
    const ssize_t got = ::read(fd, into.data() + at, size - at);
    if (got <= 0) return false;
    at += static_cast<std::size_t>(got);
  }
  return true;
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd, bytes.data(), bytes.size());
    if (put <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

/// A message is its length, and that many bytes.
bool send_message(int fd, std::string_view message) {
  const std::uint64_t size = message.size();
  return write_all(fd, {reinterpret_cast<const char*>(&size), sizeof size}) && write_all(fd, message);
}

std::optional<std::string> receive_message(int fd) {
  std::string head;
  std::string message;
  if (!read_all(fd, head, sizeof(std::uint64_t))) return std::nullopt;
  std::uint64_t size = 0;
  std::memcpy(&size, head.data(), sizeof size);
  return read_all(fd, message, size) ? std::optional(message) : std::nullopt;
}

/// A loader of {"files", "spec", "resources"}: nothing else of the process that described it is needed.
std::unique_ptr<Loader> bind_description(std::string_view text) {
  const auto described = nlohmann::json::parse(text);
  PathList paths;
  for (const auto& file : described["files"]) {
    if (!paths.append(file.get<std::string>()).ok()) return nullptr;
  }
  auto loader = Loader::make(*parse_spec(described["spec"].dump()), *FileSource::make(std::move(paths)),
                             *parse_resources(described["resources"].dump()));
  return loader.ok() ? *std::move(loader) : nullptr;
}

std::string content_of(const Batch& batch) {
  std::string content;
  for (const Column& column : batch.plan->layout.columns()) {
    content.append(reinterpret_cast<const char*>(batch.slot.data() + column.offset), column.row_bytes * batch.rows);
  }
  return content;
}

std::vector<std::string> batches_of(Loader& loader) {
  std::vector<std::string> batches;
  const auto iterator = *loader.iterate({.epoch = 2});
  while (auto next = iterator->next(60s)) {
    if (!std::holds_alternative<Batch>(*next)) break;
    batches.push_back(content_of(std::get<Batch>(*next)));
  }
  return batches;
}

/// Runs in the process that was started apart.
TEST(ApartFiller, DISABLED_Sends) {
  const auto description = receive_message(kIn);
  ASSERT_TRUE(description);
  const auto loader = bind_description(*description);
  ASSERT_NE(loader, nullptr);
  for (const std::string& batch : batches_of(*loader)) ASSERT_TRUE(send_message(kOut, batch));
}

class Apart : public testing::Test {
 protected:
  /// Starts this program anew, with a pipe each way.
  void SetUp() override {
    std::array<int, 2> in{};
    std::array<int, 2> out{};
    ASSERT_EQ(pipe2(in.data(), O_CLOEXEC), 0);
    ASSERT_EQ(pipe2(out.data(), O_CLOEXEC), 0);
    to_.reset(in[1]);
    from_.reset(out[0]);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], kIn);
    posix_spawn_file_actions_adddup2(&actions, out[1], kOut);
    const std::string filter = std::string("--gtest_filter=") + kFiller;
    std::array<char*, 4> arguments{const_cast<char*>("apart"), const_cast<char*>(filter.c_str()),
                                   const_cast<char*>("--gtest_also_run_disabled_tests"), nullptr};
    ASSERT_EQ(posix_spawn(&process_, "/proc/self/exe", &actions, nullptr, arguments.data(), environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    ::close(in[0]);
    ::close(out[1]);
  }
  int end() {
    to_.reset();
    from_.reset();
    int status = 0;
    EXPECT_EQ(waitpid(process_, &status, 0), process_);
    return WEXITSTATUS(status);
  }

  /// Batches in the order in which they are taken; what has not come is an error.
  std::vector<Window<Envelopes>::Next> take_all(std::uint64_t steps) {
    Metrics metrics;
    Window<Envelopes> window({},
                             {.steps = steps,
                              .content = [](std::uint64_t) { return Window<Envelopes>::Content{1, 0}; },
                              .free_memory = [] {}},
                             metrics);
    window.set_depth(2);
    std::unique_lock lock(window.mutex());
    auto& taker = window.join();
    std::condition_variable room;
    std::thread filler([&] {
      for (std::uint64_t step = 0; step < steps; ++step) {
        auto message = receive_message(from_.get());
        std::unique_lock filling(window.mutex());
        room.wait(filling, [&] { return window.open(step); });
        std::vector<FailedRow> failed;
        if (message) window.place(step)->swap(*message);
        if (!message) failed.emplace_back(0, invalid("the process has ended"));
        const bool awaited = window.finish(filling, step, 1, failed);
        filling.unlock();
        if (awaited) window.notify();
      }
    });
    std::vector<Window<Envelopes>::Next> taken;
    while (window.ask(taker)) {
      if (!window.wait(lock, taker, monotonic_ns() + 60'000'000'000)) break;
      taken.push_back(window.take(taker));
      room.notify_one();
    }
    lock.unlock();
    filler.join();
    return taken;
  }

  std::string description() {
    nlohmann::json files = nlohmann::json::array();
    for (std::uint32_t i = 0; i < 40; ++i) {
      const auto png = testing_pictures::png(20 + i % 7, 24 + i % 5, i);
      files.push_back(folder_.put(std::to_string(i) + ".png", {png.begin(), png.end()}));
    }
    const auto spec = nlohmann::json::parse(R"({"ops": [{"op": "random_resized_crop", "height": 16, "width": 12}],
                                                "sampler": {"shuffle": true, "seed": 3, "batch": 8}, "seed": 5})");
    const Resources resources{.budget = {.cpus = 1}, .cache = {.on = false, .index = false, .form = {}}};
    return nlohmann::json{{"files", files}, {"spec", spec}, {"resources", resources_to_json(resources)}}.dump();
  }

  Folder folder_;
  UniqueHandle to_, from_;
  pid_t process_ = 0;
};

TEST_F(Apart, AProcessFillsAWindowFromADescription) {
  const std::string text = description();
  const auto expected = batches_of(*bind_description(text));
  ASSERT_EQ(expected.size(), 5u);
  ASSERT_TRUE(send_message(to_.get(), text));
  const auto taken = take_all(expected.size());
  ASSERT_EQ(taken.size(), expected.size());
  for (std::size_t i = 0; i < taken.size(); ++i) {
    const auto* batch = std::get_if<Envelopes::Taken>(&taken[i]);
    ASSERT_NE(batch, nullptr) << i;
    EXPECT_EQ(**batch, expected[i]) << i;
  }
  EXPECT_EQ(end(), 0);
}

TEST_F(Apart, WhatDoesNotComeIsAnErrorInItsPlace) {
  auto less = nlohmann::json::parse(description());
  less["files"].erase(less["files"].begin() + 16, less["files"].end());
  ASSERT_TRUE(send_message(to_.get(), less.dump()));
  const auto taken = take_all(4);
  ASSERT_EQ(taken.size(), 4u);
  for (std::size_t i = 0; i < taken.size(); ++i) {
    EXPECT_EQ(std::holds_alternative<Error>(taken[i]), i >= 2) << i;
  }
  EXPECT_EQ(end(), 0);
}

}  // namespace
}  // namespace apart
}  // namespace drapps
