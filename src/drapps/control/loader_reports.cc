// What a loader says of itself.
#include <utility>

#include "drapps/base/clock.h"
#include "drapps/control/loader.h"
#include "drapps/plant/schema.h"

namespace drapps {
namespace {

using nlohmann::json;

}  // namespace

json Loader::explain() const {
  json root;
  root["plan"] = json::parse(plan_->to_json());
  root["plan"].update(limits_json(Engine::get()));
  const Own* own = own_.get();
  root["forms"] = own == nullptr ? json::object() : own->cache.to_json();
  const auto guard = lock();
  root["plan"]["settings"] = settings_to_json(settings_now(), knobs());
  root["plan"]["weights"] = name_of(resources_.weights);
  if (plant() != nullptr) root["plan"]["first_batch"] = own->first->to_json();
  if (own != nullptr) root["plan"]["placement"] = own->device.to_json();
  if (json arrival = own == nullptr ? json() : own->upload.to_json(); !arrival.is_null()) {
    root["plan"]["arrival"] = std::move(arrival);
  }
  root["decisions"] = control_.log();
  return root;
}

json Loader::stats() const {
  const auto guard = lock();
  PlantStats stats;
  if (plant() != nullptr) {
    stats = plant()->stats();
  } else {
    stats.settings = settings_now();
    stats.limits = limits_now();
  }
  json root = to_json(stats, knobs());
  root["machine"] = Meters::of_process().to_json(monotonic_ns());
  root["learning"] = control_.learning();
  const StorageIdentity what = source_->storage_identity();
  root["storage"].update({{"kind", what.kind},
                          {"path", what.path},
                          {"mount", what.mount},
                          {"filesystem", what.filesystem},
                          {"device", what.device}});
  root["slowest"] = json::array();
  if (plant() == nullptr) return root;
  for (const SampleTimes& sample : plant()->slowest()) {
    json entry = to_json(sample);
    entry["name"] = source_->name(sample.record);
    root["slowest"].push_back(std::move(entry));
  }
  return root;
}

}  // namespace drapps
