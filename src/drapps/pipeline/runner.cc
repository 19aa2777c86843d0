#include <utility>

#include "drapps/pipeline/executor.h"
#include "drapps/pipeline/gatherer.h"
#include "drapps/pipeline/resident_runner.h"
#include "drapps/pipeline/stream_runner.h"
#include "drapps/pipeline/upload_runner.h"

namespace drapps {
namespace {

template <class Kind>
Result<std::unique_ptr<Runner>> make(const RunnerParts& parts) {
  auto runner = Kind::make(parts);
  if (!runner.ok()) return std::move(runner).error();
  return std::unique_ptr<Runner>(*std::move(runner));
}

}  // namespace

Result<std::unique_ptr<Runner>> make_runner(RunnerParts parts) {
  if (parts.upload != nullptr) return make<UploadRunner>(parts);
  // A loader whose arrays do not live on a device any more has an arena there, perhaps.
  if (parts.arena != nullptr && parts.arena->on_host() != (parts.residence == nullptr)) {
    std::exchange(parts.arena, nullptr)->retire();
  }
  if (parts.arena == nullptr) {
    const std::size_t bytes = parts.plan->layout.bytes();
    auto arena = parts.residence != nullptr ? SlotArena::make_on(parts.residence->room(), bytes)
                                            : SlotArena::make(bytes, parts.engine.memory(MemoryUse::kBatches));
    if (!arena.ok()) return std::move(arena).error();
    parts.arena = *std::move(arena);
  }
  if (parts.residence != nullptr) return make<ResidentRunner>(parts);
  if (parts.plan->streams != nullptr) return make<StreamRunner>(parts);
  return parts.source->rows() != nullptr ? make<Gatherer>(parts) : make<Executor>(parts);
}

}  // namespace drapps
