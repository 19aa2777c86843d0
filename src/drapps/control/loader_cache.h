// What a loader keeps of its records from pass to pass: in which forms, and in how many bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "drapps/cache/range_cache.h"
#include "drapps/cache/record_cache.h"
#include "drapps/pipeline/engine.h"
#include "drapps/pipeline/plan.h"
#include "drapps/source/learned.h"

namespace drapps {

/// What the user asks for.
struct CacheOptions {
  bool on = true;
  std::optional<std::size_t> budget;  // bytes; else half of the RAM budget that batches leave
  bool chosen = false;                // the form was said, or the budget: what can be kept is kept
  bool index = true;                  // what decoding learns of JPEG files
  std::optional<cache::FormId> form = cache::FormId::kBytes;  // of the records themselves; none: they are not kept
};

/// From the options "cache" ("auto", "off", bytes) and "form"; either may be null. kInvalidArgument says which are
/// known.
Result<CacheOptions> cache_options(const nlohmann::json& budget, const nlohmann::json& form);
/// The options "cache" and "form" that give these; null where they are as if not given.
nlohmann::json cache_to_json(const CacheOptions& options);
nlohmann::json form_to_json(const CacheOptions& options);

/// What one loader keeps, in one process.
class LoaderCache {
 public:
  LoaderCache(Engine& engine, const Plan& plan, const std::shared_ptr<Source>& source, const CacheOptions& options);

  /// One more pass begins.
  void begin_pass() noexcept;
  /// Null where nothing is kept of the records.
  const std::shared_ptr<cache::RecordCache>& records() const noexcept { return records_; }
  /// Null where nothing is kept of the files that rows are made of in streams.
  const std::shared_ptr<cache::RangeCache>& ranges() const noexcept { return ranges_; }
  /// Null where nothing is kept of what decoding learns.
  const std::shared_ptr<LearnedStore>& learned() const noexcept { return learned_; }

  /// By form: which share of this loader's records is kept in it, and over all loaders of the process how many parts of
  /// records, in how many bytes, and how much time they save in each pass; "cache" has the sums; "jpeg_index" what is
  /// known of this loader's files.
  nlohmann::json to_json() const;

 private:
  cache::Store& store_;
  std::shared_ptr<cache::RecordCache> records_;
  std::shared_ptr<cache::RangeCache> ranges_;
  std::shared_ptr<const PartPlan> learner_;  // the part whose store learned_ is
  std::shared_ptr<LearnedStore> learned_;    // behind records_: it has a share of their budget
};

}  // namespace drapps
