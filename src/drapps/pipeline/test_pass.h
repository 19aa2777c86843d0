// A whole pass for tests: from a plan and a source to what its batches hold.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
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
