#include "drapps/control/loader_cache.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace drapps {
namespace {

using nlohmann::json;

/// Half of the RAM budget that is left beside what batches under way need at the least.
std::size_t default_budget(const Engine& engine, const Plan& plan) {
  const std::size_t batches = 8 * plan.layout.bytes();
  return (engine.ram_budget() - std::min(engine.ram_budget(), batches)) / 2;
}

/// What else than its file shows in each part of the records as it is kept (see modality.h). Nothing, so that the part
/// is kept as bytes, where several parts of the plan are of it, or none.
std::vector<std::optional<std::string>> made_with(const Plan& plan, const Source& source, cache::FormId form) {
  std::vector<std::optional<std::string>> all(source.parts().size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto part = static_cast<RecordPart>(i);
    std::vector<std::optional<std::string>> traits;
    for (const auto& one : plan.parts) {
      if (one->of() == part) traits.push_back(one->made_with(form));
    }
    if (traits.size() == 1) all[i] = traits.front();
  }
  return all;
}

std::string known_forms() {
  std::string all = R"("auto", "index", "jpeg+index")";
  for (const std::string_view name : EnumNames<cache::FormId>::kNames) all += ", \"" + std::string(name) + "\"";
  return all;
}

}  // namespace

Result<CacheOptions> cache_options(const json& budget, const json& form) {
  CacheOptions options;
  if (budget.is_number_unsigned() && budget.get<std::uint64_t>() > 0) {
    options.budget = budget.get<std::size_t>();
    options.chosen = true;
  } else if (budget == "off") {
    options = {.on = false, .index = false, .form = {}};
  } else if (!budget.is_null() && budget != "auto") {
    return invalid("cache=" + budget.dump() + R"( must be "auto", "off" or a number of bytes > 0)");
  }
  if (form.is_null() || form == "auto") return options;
  const std::string name = form.is_string() ? form.get<std::string>() : form.dump();
  const auto& names = EnumNames<cache::FormId>::kNames;
  const auto known = std::ranges::find(names, name);
  if (known == names.end() && name != "index" && name != "jpeg+index") {
    return invalid("form=" + form.dump() + " must be one of " + known_forms());
  }
  if (!options.on)
    return invalid("form=" + form.dump() +
                   R"( says how to keep what cache="off" does not keep; leave out one of them)");
  options.chosen = true;
  options.index = known == names.end();
  if (name == "index") options.form.reset();
  if (known != names.end()) options.form = static_cast<cache::FormId>(known - names.begin());
  return options;
}

json cache_to_json(const CacheOptions& options) {
  if (!options.on) return "off";
  return options.budget ? json(*options.budget) : json();
}

json form_to_json(const CacheOptions& options) {
  if (!options.chosen) return {};
  if (!options.form) return "index";
  if (!options.index) return name_of(*options.form);
  return options.budget ? json() : json("jpeg+index");
}

LoaderCache::LoaderCache(Engine& engine, const Plan& plan, const std::shared_ptr<Source>& source,
                         const CacheOptions& options)
    : store_(engine.cache()) {
  if (!options.on || source->rows() != nullptr) return;
  const std::size_t budget = options.budget.value_or(default_budget(engine, plan));
  if (plan.streams != nullptr) {
    const cache::RangeCacheOptions kept{.budget = budget, .always = options.chosen};
    ranges_ = std::make_shared<cache::RangeCache>(store_, source->shared_storage(), kept);
    return;
  }
  const cache::RecordCacheOptions kept{.budget = budget, .form = options.form, .always = options.chosen};
  records_ = std::make_shared<cache::RecordCache>(
      store_, source, kept,
      options.form ? made_with(plan, *source, *options.form) : std::vector<std::optional<std::string>>());
  if (!options.index) return;
  for (const auto& part : plan.parts) {
    learned_ = part->new_store(store_.ledger(), source->size(), kept.budget);
    if (learned_ == nullptr) continue;
    learner_ = part;
    break;
  }
}

void LoaderCache::begin_pass() noexcept {
  if (records_ != nullptr) records_->begin_pass();
  if (ranges_ != nullptr) ranges_->begin_pass();
}

json LoaderCache::to_json() const {
  json root = json::object();
  if (learned_ != nullptr) learner_->report(*learned_, root);
  if (records_ == nullptr && ranges_ == nullptr) return root;
  const cache::StoreStatistics kept = store_.statistics();
  const auto shares = records_ == nullptr ? std::array<double, cache::kForms>{} : records_->shares();
  for (std::size_t i = 0; i < kept.forms.size(); ++i) {
    const cache::FormStatistics& form = kept.forms[i];
    if (form.entries == 0) continue;
    const auto id = static_cast<cache::FormId>(i);
    json& entry = root[std::string(name_of(id))];
    entry = {{"samples", form.entries}, {"bytes", form.bytes}, {"saved_us", form.saved_ns / 1000}};
    if (records_ == nullptr) continue;
    entry["share"] = shares[i];
    entry["encode_us"] = records_->encode_ns(id) / 1000;
  }
  root["cache"] = {{"budget", store_.budget()},
                   {"bytes", store_.bytes()},
                   {"hits", ranges_ != nullptr ? ranges_->hits() : records_->hits()},
                   {"refused", kept.refused},
                   {"dropped", kept.dropped},
                   {"stale", kept.stale}};
  return root;
}

}  // namespace drapps
