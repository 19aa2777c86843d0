// Contestants of scenario cache: one loader over an emulated storage, with a cache that never evicts or with one that
// does. Its only argument describes the work:
//
//   {"files": LIST, "bandwidth": B/s, "crop": pixels, "batch": rows, "seed": N, "workers": N}
//
// A command, {"cache": "store" or "lru", "share": of all files' bytes, "passes": N}, is answered by what came of the
// passes behind the first, which fills the cache: {"samples", "seconds", "hits"}.
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "benchmarks/cache/lru_tier.h"
#include "benchmarks/program.h"
#include "drapps/base/clock.h"
#include "drapps/cache/record_cache.h"
#include "drapps/pipeline/runner.h"
#include "drapps/source/encoded.h"
#include "drapps/storage/emulated_storage.h"

namespace drapps::bench {
namespace {

constexpr std::int32_t kIoDepth = 16;
constexpr std::int32_t kPrefetchDepth = 4;

class Program {
 public:
  explicit Program(const json& spec) : bandwidth_(spec["bandwidth"]), workers_(spec["workers"]) {
    std::ifstream list(spec["files"].get<std::string>());
    PathList paths;
    for (std::string path; std::getline(list, path);) {
      must(paths.append(path));
      entries_ += cache::Store::size_of(cache::FormId::kBytes, std::filesystem::file_size(path));
    }
    source_ = must(FileSource::make(std::move(paths)));
    const json description = {
        {"decode", {{"depth", "scale"}}},
        {"ops", {{{"op", "random_resized_crop"}, {"height", spec["crop"]}, {"width", spec["crop"]}}}},
        {"sampler", {{"batch", spec["batch"]}, {"shuffle", true}, {"seed", spec["seed"]}}},
    };
    plan_ = must(Plan::make(must(parse_spec(description.dump())), *source_));
  }

  json answer(const json& command) {
    const std::uint32_t passes = command["passes"];
    const auto budget = static_cast<std::size_t>(command["share"].get<double>() * static_cast<double>(entries_));
    if (command["cache"] == "lru") {
      LruTier lru(budget);
      return measure(lru, budget, passes);
    }
    MemoryLedger ledger;
    cache::Store store(ledger);
    const cache::Member member = store.join(source_->size(), 2 * budget);
    const std::size_t table = store.bytes();
    store.leave(member);
    return measure(store, table + budget, passes);  // as much for entries as the other has
  }

 private:
  json measure(cache::Tier& tier, std::size_t budget, std::uint32_t passes) {
    source_->set_storage(
        std::make_shared<EmulatedStorage>(must(Emulation::make({.schedule = {{0, {.bandwidth = bandwidth_}}}}))));
    const auto cache = std::make_shared<cache::RecordCache>(
        tier, source_, cache::RecordCacheOptions{.budget = budget, .form = cache::FormId::kBytes},
        std::vector<std::optional<std::string>>(source_->parts().size()));
    std::uint64_t samples = 0;
    std::uint64_t began = 0;
    std::uint64_t hits = 0;
    for (std::uint32_t pass = 0; pass < passes; ++pass) {
      if (pass == 1) {
        began = monotonic_ns();
        hits = cache->hits();
      }
      const std::uint32_t rows = run(cache, pass);
      if (pass > 0) samples += rows;
    }
    return {{"samples", samples},
            {"seconds", static_cast<double>(monotonic_ns() - began) * 1e-9},
            {"hits", cache->hits() - hits}};
  }

  std::uint32_t run(const std::shared_ptr<cache::RecordCache>& cache, std::uint32_t pass) {
    Settings settings;
    settings[KnobId::kWorkers] = workers_;
    settings[KnobId::kIoDepth] = kIoDepth;
    settings[KnobId::kPrefetchDepth] = kPrefetchDepth;
    settings[KnobId::kFused] = 1;
    cache->begin_pass();
    const auto runner = must(make_runner({.plan = plan_,
                                          .source = source_,
                                          .sampler = must(Sampler::make(plan_->spec.sampler, pass)),
                                          .settings = settings,
                                          .engine = Engine::get(),
                                          .arena = nullptr,
                                          .keeper = cache}));
    std::uint32_t rows = 0;
    while (true) {
      const auto next = runner->next(std::chrono::seconds(60));
      if (!next) fail("no batch within 60 s");
      if (const auto* error = std::get_if<Error>(&*next)) fail(error->path + ": " + error->message);
      if (std::holds_alternative<Runner::Finished>(*next)) return rows;
      rows += std::get<Batch>(*next).rows;
    }
  }

  const double bandwidth_;
  const std::int32_t workers_;
  std::uint64_t entries_ = 0;  // bytes that all files take in a cache
  std::shared_ptr<Source> source_;
  std::shared_ptr<const Plan> plan_;
};

}  // namespace
}  // namespace drapps::bench

int main(int argc, char** argv) { return drapps::bench::serve<drapps::bench::Program>(argc, argv); }
