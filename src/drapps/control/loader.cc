#include "drapps/control/loader.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "drapps/base/caught.h"
#include "drapps/base/clock.h"
#include "drapps/base/process_local.h"
#include "drapps/control/controller.h"
#include "drapps/plant/knob_range.h"
#include "drapps/plant/schema.h"
#include "drapps/policy/guard.h"
#include "drapps/policy/initial.h"
#include "drapps/policy/registry.h"

namespace drapps {
namespace {

using nlohmann::json;

json first_batch_json(const FirstBatch& first) {
  json parts = json::object();
  if (first.given == 0) return parts;
  std::uint64_t from = first.began;
  const std::pair<const char*, std::uint64_t> ends[] = {
      {"first_read_s", first.read}, {"first_sample_s", first.made}, {"rest_s", first.given}};
  for (const auto& [name, end] : ends) {
    if (end < from) continue;
    parts[name] = static_cast<double>(end - from) * 1e-9;
    from = end;
  }
  return parts;
}

}  // namespace

Result<LoaderOptions> parse_options(std::string_view text) {
  const json root = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!root.is_object()) return invalid("the options are not a JSON object");
  LoaderOptions options;
  auto cache = cache_options(root.value("cache", json()), root.value("form", json()));
  if (!cache.ok()) return std::move(cache).error();
  options.cache = *cache;
  for (const auto& [key, value] : root.items()) {
    if (value.is_null() || key == "cache" || key == "form") continue;
    if (key == "policy") {
      auto policy = policy_config_from_json(value);
      if (!policy.ok()) return std::move(policy).error();
      options.policy = *std::move(policy);
    } else if (key == "cpu_budget") {
      DRAPPS_RETURN_IF_ERROR(check_cores(value.is_number() ? value.get<double>() : 0));
      options.budget.cpus = value.get<double>();
    } else if (key == "ram_budget") {
      if (!value.is_number_unsigned() || value.get<std::uint64_t>() == 0) {
        return invalid("ram_budget must be a number of bytes > 0");
      }
      options.budget.bytes = value.get<std::size_t>();
    } else if (key == "settings") {
      auto settings = thread_settings_from_json(value);
      if (!settings.ok()) return std::move(settings).error();
      options.settings = *settings;
    } else if (key == "weights") {
      if (value != "share" && value != "cap")
        return invalid("weights=" + value.dump() + R"( must be "share" or "cap")");
      options.weights = value == "cap" ? WeightUse::kCap : WeightUse::kShare;
    } else if (key == "device_memory") {
      if (!value.is_number_unsigned() || value.get<std::uint64_t>() == 0) {
        return invalid("device_memory must be a number of bytes > 0");
      }
      const json device = root.value("device", json());
      if (!device.is_string()) return invalid("device_memory is of no device: name it");
      options.device = DeviceChoice{device.get<std::string>(), value.get<std::size_t>()};
    } else if (key == "placement") {
      auto placement = placement_from_json(value, root.value("device", json()));
      if (!placement.ok()) return std::move(placement).error();
      options.placement = *std::move(placement);
    } else if (key == "device") {
      if (!value.is_string()) return invalid("device=" + value.dump() + " must be a name such as \"cuda:0\"");
    } else {
      return invalid("there is no option named \"" + key + "\"");
    }
  }
  return options;
}

Result<std::unique_ptr<Loader>> Loader::make(PipelineSpec spec, std::shared_ptr<Source> source, LoaderOptions options) {
  auto made = catching([&]() -> Result<std::unique_ptr<Loader>> {
    if (auto policy = make_policy(options.policy); !policy.ok()) return std::move(policy).error();
    auto plan = Plan::make(std::move(spec), *source);
    if (!plan.ok()) return std::move(plan).error();
    if (options.device) DRAPPS_RETURN_IF_ERROR(Residence::check(**plan, *source, options.device->memory_bytes));
    std::unique_ptr<Loader> loader(new Loader(*std::move(plan), std::move(source), std::move(options)));
    if (auto sampler = loader->sampler({}); !sampler.ok()) return std::move(sampler).error();
    loader->enter_process();
    const std::size_t budget = Engine::get().ram_budget();
    if (loader->plan_->layout.bytes() > budget) {
      return invalid("one batch takes " + std::to_string(loader->plan_->layout.bytes()) +
                     " bytes and ram_budget gives " + std::to_string(budget) + "; raise it or lower the batch size");
    }
    return loader;
  });
  if (!made.ok()) advise(made.error());
  return made;
}

Loader::~Loader() {
  if (process_ == getpid()) {
    recording_->end(nullptr);
    return;
  }
  // Another process's locks may be taken for ever: nothing of it is touched.
  abandon(std::move(plant_));
  abandon(std::move(client_));
  abandon(std::move(cache_));
  abandon(std::move(arena_));
  abandon(std::move(residence_));
  abandon(std::move(device_));
  abandon(std::move(recording_));
}

void Loader::enter_process() {
  if (process_ == getpid()) return;
  if (process_ != 0) {
    abandon(std::exchange(plant_, {}));
    abandon(std::exchange(client_, {}));
    abandon(std::exchange(cache_, {}));
    abandon(std::exchange(arena_, {}));
    abandon(std::exchange(residence_, {}));
    abandon(std::exchange(device_, {}));
    abandon(std::exchange(recording_, {}));
  }
  process_ = 0;
  auto mutex = std::make_unique<std::mutex>();
  auto recording = std::make_shared<Recording>();
  Engine& engine = Engine::get();
  std::shared_ptr<Engine::Limit> limit = engine.limit(options_.budget);
  auto arena = std::make_shared<ArenaPlace>(engine.spare_arenas());
  auto cache = std::make_shared<LoaderCache>(engine, *plan_, source_, options_.cache);
  auto device = std::make_shared<LoaderDevice>(options_.placement);
  limit_ = std::move(limit);
  cache_ = std::move(cache);
  arena_ = std::move(arena);
  mutex_ = std::move(mutex);
  recording_ = std::move(recording);
  device_ = std::move(device);
  process_ = getpid();
}

Result<Sampler> Loader::sampler(const Pass& pass) const {
  SamplerSpec spec = plan_->spec.sampler;
  if (pass.seed) spec.seed = *pass.seed;
  if (pass.order != nullptr) {
    const auto bad = std::find_if(pass.order->begin(), pass.order->end(),
                                  [&](std::uint64_t index) { return index >= source_->size(); });
    if (bad != pass.order->end()) {
      return invalid("the order names sample " + std::to_string(*bad) + " of a source of " +
                     std::to_string(source_->size()));
    }
    return Sampler::make_explicit(spec, pass.order, pass.epoch, pass.start);
  }
  return Sampler::make(spec, pass.epoch, pass.start);
}

Result<std::uint64_t> Loader::steps(const Pass& pass) const {
  auto made = sampler(pass);
  if (!made.ok()) return std::move(made).error();
  return made->steps();
}

std::unique_lock<std::mutex> Loader::lock() const {
  return process_ == getpid() ? std::unique_lock(*mutex_) : std::unique_lock<std::mutex>();
}

bool Loader::controlled() const { return process_ == getpid() && plant_ != nullptr; }

Result<std::unique_ptr<Iterator>> Loader::iterate(const Pass& pass) {
  auto begun = catching([&] { return begin(pass); });
  if (!begun.ok()) advise(begun.error());
  return begun;
}

Result<std::unique_ptr<Iterator>> Loader::begin(const Pass& pass) {
  auto first = std::make_shared<FirstBatch>();
  first->began = monotonic_ns();
  auto order = sampler(pass);
  if (!order.ok()) return std::move(order).error();
  enter_process();
  Engine& engine = Engine::get();
  Controller& controller = Controller::of_process();
  engine.watch_machine();
  auto late = late_stage(engine);
  if (!late.ok()) return std::move(late).error();
  const Limits limits = live_limits(*plan_, engine, late->get());
  const Settings settings = fit_settings(first_settings(), limits);
  auto runner = run(pass, *std::move(order), settings, engine, *std::move(late));
  if (!runner.ok()) return std::move(runner).error();
  const auto guard = lock();
  if (plant_ == nullptr) {
    auto plant = std::make_shared<LivePlant>(engine, source_->shared_storage(), settings, limits);
    client_ = std::make_shared<Client>(plant, *make_policy(options_.policy), &Shares::of_process(), options_.policy,
                                       &Meters::of_process());
    if (files_ == nullptr) files_ = data_files_of(*source_);
    Meters::of_process().add(files_);
    if (frozen_) client_->freeze();
    plant_ = std::move(plant);
    if (recording_->follow(*client_, samples())) plant_->sample(SampleReservoir::kMost);
  }
  std::unique_ptr<Iterator> iterator(new Iterator(limit_, *std::move(runner), plant_, client_, arena_, first));
  iterator->consumer_->set_batch(plan_->spec.sampler.batch);
  first_ = std::move(first);
  client_->begin_epoch(pass.epoch);
  // Before what may fail: where it does, the iterator's end takes back both.
  controller.add(client_);
  plant_->attach(*iterator->runner_, limits);
  return iterator;
}

Result<std::shared_ptr<LateStage>> Loader::late_stage(Engine& engine) {
  const auto guard = lock();
  return device_->enter(*plan_, engine);
}

Settings Loader::first_settings() {
  const auto guard = lock();
  Settings settings = settings_now();
  if (controlled() && device_->place(settings, plant_->stats())) plant_->apply(settings);
  return settings;
}

Result<std::shared_ptr<Residence>> Loader::resident() {
  const auto guard = lock();
  if (!options_.device || residence_ != nullptr) return residence_;
  auto made = Residence::make(*options_.device, *plan_, *source_);
  if (made.ok()) residence_ = *made;
  return made;
}

Result<std::unique_ptr<Runner>> Loader::run(const Pass& pass, Sampler order, const Settings& settings, Engine& engine,
                                            std::shared_ptr<LateStage> late) {
  const std::uint64_t seed = pass.seed ? 0 : plan_->spec.seed;
  if (cache_->records() != nullptr) cache_->records()->begin_pass();
  auto residence = resident();
  if (!residence.ok()) return std::move(residence).error();
  return make_runner({.plan = plan_,
                      .source = source_,
                      .sampler = std::move(order),
                      .seed = seed,
                      .settings = settings,
                      .engine = engine,
                      .arena = arena_->take(),
                      .learned = cache_->learned(),
                      .keeper = cache_->records(),
                      .weights = options_.weights,
                      .residence = *std::move(residence),
                      .late = std::move(late),
                      .ahead = pass.ahead,
                      .cursors = pass.cursors});
}

json limits_json(const Engine& engine) {
  const MachineLimits machine = engine.machine();
  return {{"budget", {{"cpus", engine.cpu_budget()}, {"ram_bytes", engine.ram_budget()}}},
          {"machine",
           {{"cpus", machine.cpus}, {"memory_bytes", machine.memory_bytes}, {"local_ranks", machine.local_ranks}}},
          {"shortages", engine.shortages()}};
}

json Loader::explain() const {
  json root;
  root["plan"] = json::parse(plan_->to_json());
  root["plan"].update(limits_json(Engine::get()));
  root["forms"] = process_ == getpid() ? cache_->to_json() : json::object();
  const auto guard = lock();
  root["plan"]["settings"] = settings_to_json(settings_now(), knobs());
  root["plan"]["weights"] = options_.weights == WeightUse::kCap ? "cap" : "share";
  if (controlled()) root["plan"]["first_batch"] = first_batch_json(*first_);
  if (process_ == getpid()) root["plan"]["placement"] = device_->to_json();
  root["decisions"] = controlled() ? client_->log().to_json() : DecisionLog(options_.policy.name).to_json();
  root["decisions"]["learning"] = controlled() ? client_->learning() : json();
  return root;
}

json Loader::stats() const {
  const auto guard = lock();
  PlantStats stats;
  if (controlled()) {
    stats = plant_->stats();
  } else {
    stats.settings = settings_now();
    stats.limits = limits_now();
  }
  json root = to_json(stats, knobs());
  root["machine"] = Meters::of_process().to_json(monotonic_ns());
  root["learning"] = controlled() ? client_->learning() : json();
  const StorageIdentity what = source_->storage_identity();
  root["storage"].update({{"kind", what.kind},
                          {"path", what.path},
                          {"mount", what.mount},
                          {"filesystem", what.filesystem},
                          {"device", what.device}});
  root["slowest"] = json::array();
  if (!controlled()) return root;
  for (const SampleTimes& sample : plant_->slowest()) {
    json entry = to_json(sample);
    entry["name"] = source_->name(sample.record);
    root["slowest"].push_back(std::move(entry));
  }
  return root;
}

Settings Loader::settings() const {
  const auto guard = lock();
  return settings_now();
}

Settings Loader::settings_now() const {
  if (controlled()) return plant_->settings();
  const Limits limits = limits_now();
  if (options_.settings) return fit_settings(*options_.settings, limits);
  Settings settings = initial_settings(limits, plan_->layout.bytes());
  device_->start(settings);
  return settings;
}

Limits Loader::limits_now() const {
  return live_limits(*plan_, Engine::get(), process_ == getpid() ? device_->decoder() : nullptr);
}

KnobSet Loader::knobs() const noexcept {
  return options_.placement.mode == PlacementMode::kCpu ? kThreadKnobs : kPlacedKnobs;
}

void Loader::apply(const Settings& settings) {
  const auto guard = lock();
  options_.settings = settings;
  if (controlled()) plant_->apply(fit_settings(settings, plant_->limits()));
}

Status Loader::set_policy(PolicyConfig config) {
  auto policy = make_policy(config);
  if (!policy.ok()) return std::move(policy).error();
  const auto guard = lock();
  options_.policy = std::move(config);
  if (controlled()) client_->swap(*std::move(policy), options_.policy);
  return ok_status();
}

void Loader::freeze(bool frozen) {
  const auto guard = lock();
  frozen_ = frozen;
  if (controlled()) frozen ? client_->freeze() : client_->unfreeze();
}

Status Loader::record(const std::string& path) {
  return catching([&]() -> Status {
    enter_process();
    // Names of files may be any bytes.
    const std::string about = json{{"plan", explain()["plan"]}}.dump(-1, ' ', false, json::error_handler_t::replace);
    const auto guard = lock();
    if (!controlled()) return recording_->begin(path, about, nullptr);
    DRAPPS_RETURN_IF_ERROR(recording_->begin(path, about, client_.get(), samples()));
    plant_->sample(SampleReservoir::kMost);
    return ok_status();
  });
}

Recording::Samples Loader::samples() const {
  return [plant = plant_] {
    const SampleReservoir taken = plant->take_samples();
    trace::SampleBatch batch{.seen = taken.added(), .samples = {}};
    for (const SampleTimes& sample : taken.kept()) {
      batch.samples.push_back({.index = sample.record,
                               .position = sample.position,
                               .bytes = sample.bytes,
                               .known = sample.known,
                               .cpu_ns = sample.cpu_ns,
                               .wall_ns = sample.wall_ns});
    }
    return batch;
  };
}

void Loader::stop_recording() {
  if (process_ != getpid()) return;
  const auto client = [&] {
    const auto guard = lock();
    if (controlled()) plant_->sample(0);
    return client_;
  }();
  recording_->end(client.get());
}

std::string Loader::take_device_warning() const {
  if (process_ != getpid()) return {};
  const auto guard = lock();
  return device_->take_warning();
}

std::string Loader::take_warning() const { return process_ == getpid() ? recording_->take_warning() : std::string(); }

Iterator::Iterator(std::shared_ptr<Engine::Limit> limit, std::unique_ptr<Runner> runner,
                   std::shared_ptr<LivePlant> plant, std::shared_ptr<Client> client, std::weak_ptr<ArenaPlace> arena,
                   std::shared_ptr<FirstBatch> first)
    : maker_(getpid()),
      limit_(std::move(limit)),
      runner_(std::move(runner)),
      plant_(std::move(plant)),
      client_(std::move(client)),
      arena_(std::move(arena)),
      first_(std::move(first)),
      consumer_(std::make_unique<ConsumerClock>(plant_->consumer())),
      position_(runner_->position()),
      left_(runner_->left()) {}

Iterator::~Iterator() { close(); }

void Iterator::close() {
  if (runner_ == nullptr) return;
  if (maker_ != getpid()) {
    // The threads that work for it are the parent's; here it is only memory, and stays so.
    abandon(std::move(runner_));
    abandon(std::move(plant_));
    abandon(std::move(client_));
    abandon(std::move(consumer_));
    return;
  }
  consumer_->ends(monotonic_ns());
  plant_->detach(*runner_);
  Controller::of_process().remove(client_);
  bad_ = runner_->take_bad_samples();
  cursors_ = runner_->cursors(position_);
  const std::shared_ptr<SlotArena> arena = runner_->arena();
  const bool whole = runner_->left() == 0 && arena->on_host();
  const std::shared_ptr<ArenaPlace> place = whole ? arena_.lock() : nullptr;
  runner_.reset();
  // What a whole pass worked in serves the next one. Who ends a pass early wants its memory back.
  place != nullptr ? place->keep(arena) : arena->retire();
  limit_.reset();
}

std::optional<Runner::Next> Iterator::next(std::chrono::milliseconds patience) {
  if (maker_ != getpid()) {
    return invalid("this iterator belongs to process " + std::to_string(maker_) +
                   ", which made it before a fork; call "
                   "iter() on the loader again in this one");
  }
  if (runner_ == nullptr) return Runner::Finished{};
  const std::uint64_t helped = runner_->metrics().helped_ns.load(std::memory_order_relaxed);
  if (!outside_) consumer_->asks(monotonic_ns());
  auto next = runner_->next(patience);
  helped_ns_ += runner_->metrics().helped_ns.load(std::memory_order_relaxed) - helped;
  if (next && !outside_) {
    const std::uint64_t now = monotonic_ns();
    const std::uint64_t worked = std::exchange(helped_ns_, 0);
    std::holds_alternative<Runner::Finished>(*next) ? consumer_->ends(now) : consumer_->gives(now, worked);
  }
  if (auto* error = next ? std::get_if<Error>(&*next) : nullptr) {
    advise(*error);
    if (error->stage == Stage::kSetup) error->stage = Stage::kBatch;  // an exception does not say where it arose
  }
  if (next && first_->given == 0) {
    const Metrics& metrics = runner_->metrics();
    first_->read = metrics.read.ns();
    first_->made = metrics.made.ns();
    first_->given = monotonic_ns();
  }
  position_ = runner_->position();
  left_ = runner_->left();
  return next;
}

void Iterator::outside_asks() {
  if (maker_ != getpid() || runner_ == nullptr) return;
  helped_ns_ = 0;  // what was worked ahead of this was no part of a wait
  consumer_->asks(monotonic_ns());
}

void Iterator::outside_gives() {
  if (maker_ == getpid() && runner_ != nullptr) consumer_->gives(monotonic_ns(), std::exchange(helped_ns_, 0));
}

std::vector<std::uint64_t> Iterator::take_large_pictures() {
  if (runner_ == nullptr || maker_ != getpid()) return {};
  return runner_->metrics().large.take(position_);
}

std::vector<StreamCursor> Iterator::cursors(std::uint64_t position) const {
  return runner_ == nullptr || maker_ != getpid() ? cursors_ : runner_->cursors(position);
}

std::vector<Error> Iterator::bad_samples() const {
  return runner_ == nullptr || maker_ != getpid() ? bad_ : runner_->bad_samples();
}

}  // namespace drapps
