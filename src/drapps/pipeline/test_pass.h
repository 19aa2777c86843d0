// A whole pass for tests: from a plan and a source to what its batches hold.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "drapps/pipeline/runner.h"

namespace drapps::test_pass {

/// A pass with a few of everything.
inline std::unique_ptr<Runner> start(Engine& engine, const std::shared_ptr<const Plan>& plan,
                                     const std::shared_ptr<Source>& source, bool fused = true) {
  Settings settings;
  settings[KnobId::kWorkers] = 3;
  settings[KnobId::kIoDepth] = 4;
  settings[KnobId::kPrefetchDepth] = 3;
  settings[KnobId::kFused] = fused ? 1 : 0;
  return *make_runner({.plan = plan,
                       .source = source,
                       .sampler = *Sampler::make(plan->spec.sampler, 0, 0),
                       .settings = settings,
                       .engine = engine,
                       .arena = nullptr});
}

/// Memory for samples that something else has. Where that `ends`, it gives the memory back in a moment.
class MemoryOfAnother {
 public:
  MemoryOfAnother(Engine& engine, std::size_t bytes, bool ends)
      : memory_(engine.memory(MemoryUse::kWorkspaces)), bytes_(memory_.reserve(bytes) ? bytes : 0) {
    if (!ends) return;
    ending_.emplace().begin(engine);
    thread_ = std::jthread([this] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      memory_.release(std::exchange(bytes_, 0));
      ending_.reset();
    });
  }
  ~MemoryOfAnother() {
    if (thread_.joinable()) thread_.join();
    memory_.release(bytes_);
  }
  MemoryOfAnother(const MemoryOfAnother&) = delete;
  MemoryOfAnother& operator=(const MemoryOfAnother&) = delete;

 private:
  MemoryLedger& memory_;
  std::size_t bytes_;
  std::optional<Engine::Ending> ending_;
  std::jthread thread_;
};

/// What a runner gives next, for which it has a minute; it is asked as often as `patience` says.
inline Runner::Next next_of(Runner& runner, std::chrono::milliseconds patience = std::chrono::seconds(60)) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  do {
    if (auto next = runner.next(patience)) return *std::move(next);
  } while (std::chrono::steady_clock::now() < end);
  return Error{.code = ErrorCode::kInternal, .message = "no batch within a minute"};
}

/// All columns of a batch once a device has made it, or why it has not.
inline std::string all_of(const Batch& batch) {
  if (const Status status = batch.slot.wait_made(); !status.ok()) return status.error().to_string();
  std::string all = std::to_string(batch.rows) + "/" + std::to_string(batch.position) + ":";
  for (const Column& column : batch.plan->layout.columns()) {
    all.append(reinterpret_cast<const char*>(batch.slot.data() + column.offset), column.row_bytes * batch.rows);
  }
  return all;
}

/// Where a runner stands.
inline std::string place_of(const Runner& runner) {
  return " then " + std::to_string(runner.position()) + ", " + std::to_string(runner.left());
}

/// All that a runner gives, and where it stood behind each if `places`.
inline std::vector<std::string> batches_of(Runner& runner, bool places = false) {
  std::vector<std::string> batches;
  while (true) {
    const auto next = next_of(runner);
    if (std::holds_alternative<Runner::Finished>(next)) return batches;
    const auto* error = std::get_if<Error>(&next);
    batches.push_back(error != nullptr ? error->to_string() : all_of(std::get<Batch>(next)));
    if (places) batches.back() += place_of(runner);
  }
}

/// One column of each batch, or the message of its error.
inline std::vector<std::string> drain(Runner& runner, std::string_view name) {
  std::vector<std::string> texts;
  while (true) {
    auto next = runner.next(std::chrono::seconds(60));
    if (!next || std::holds_alternative<Runner::Finished>(*next)) return texts;
    if (const auto* error = std::get_if<Error>(&*next)) {
      texts.push_back(error->message);
      continue;
    }
    const Batch& batch = std::get<Batch>(*next);
    const BatchLayout& layout = batch.plan->layout;
    const Column& column = layout.columns()[layout.find(name)];
    texts.emplace_back(reinterpret_cast<const char*>(batch.slot.data()) + column.offset, batch.rows * column.row_bytes);
  }
}

}  // namespace drapps::test_pass
