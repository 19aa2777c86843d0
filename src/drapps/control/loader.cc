#include "drapps/control/loader.h"

#include <algorithm>
#include <utility>

#include "drapps/base/caught.h"
#include "drapps/base/clock.h"
#include "drapps/plant/knob_range.h"
#include "drapps/policy/initial.h"
#include "drapps/policy/registry.h"

namespace drapps {

Result<std::unique_ptr<Loader>> Loader::make(PipelineSpec spec, std::shared_ptr<Source> source, Resources resources) {
  auto result = catching([&]() -> Result<std::unique_ptr<Loader>> {
    if (auto policy = make_policy(resources.policy); !policy.ok()) return std::move(policy).error();
    auto plan = Plan::make(std::move(spec), *source);
    if (!plan.ok()) return std::move(plan).error();
    if (resources.device) DRAPPS_RETURN_IF_ERROR(Residence::check(**plan, *source, resources.device->memory_bytes));
    std::unique_ptr<Loader> loader(new Loader(*std::move(plan), std::move(source), std::move(resources)));
    if (auto sampler = loader->sampler({}); !sampler.ok()) return std::move(sampler).error();
    loader->enter_process();
    const std::size_t budget = Engine::get().ram_budget();
    if (loader->plan_->layout.bytes() > budget) {
      return invalid("one batch takes " + std::to_string(loader->plan_->layout.bytes()) +
                     " bytes and ram_budget gives " + std::to_string(budget) + "; raise it or lower the batch size");
    }
    return loader;
  });
  if (!result.ok()) advise(result.error());
  return result;
}

Loader::Own::Own(Engine& engine, const Plan& plan, const std::shared_ptr<Source>& source, const Resources& resources)
    : limit(engine.limit(resources.budget)),
      cache(engine, plan, source, resources.cache),
      arena(std::make_shared<ArenaPlace>(engine.spare_arenas())),
      pinned_arena(std::make_shared<ArenaPlace>(engine.spare_arenas())),
      device(resources.placement),
      residence(resources.device) {}

Loader::Own& Loader::enter_process() {
  control_.enter();
  if (Own* own = own_.get()) return *own;
  return own_.set(std::make_unique<Own>(Engine::get(), *plan_, source_, resources_));
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
  auto samples = sampler(pass);
  if (!samples.ok()) return std::move(samples).error();
  return samples->steps();
}

std::unique_lock<std::mutex> Loader::lock() const {
  Own* own = own_.get();
  return own == nullptr ? std::unique_lock<std::mutex>() : std::unique_lock(own->mutex);
}

LivePlant* Loader::plant() const { return own_.get() == nullptr ? nullptr : own_.get()->plant.get(); }

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
  Own& own = enter_process();
  Engine& engine = Engine::get();
  engine.watch_machine();
  const std::shared_ptr<BatchUpload> upload = enter_upload(own, pass);
  auto late = [&] {
    const auto guard = lock();
    return own.device.enter(upload == nullptr ? *plan_ : *upload->plan(), engine);
  }();
  if (!late.ok()) return std::move(late).error();
  const Limits limits = live_limits(*plan_, engine, late->get());
  const Settings settings = fit_settings(first_settings(own), limits);
  auto runner = run(own, pass, *std::move(order), settings, engine, *std::move(late), upload);
  if (!runner.ok()) return std::move(runner).error();
  const bool uploads = upload != nullptr && &(*runner)->plan() == upload->plan().get();
  const auto guard = lock();
  if (own.plant == nullptr) begin_plant(own, engine, settings, limits);
  auto iterator = std::make_unique<Iterator>(Iterator::Parts{.limit = own.limit,
                                                             .runner = *std::move(runner),
                                                             .plant = own.plant,
                                                             .client = control_.client(),
                                                             .arena = uploads ? own.pinned_arena : own.arena,
                                                             .first = first});
  own.first = std::move(first);
  iterator->begin(pass.epoch, limits);
  return iterator;
}

void Loader::begin_plant(Own& own, Engine& engine, const Settings& settings, const Limits& limits) {
  auto plant =
      std::make_shared<LivePlant>(engine, source_->shared_storage(), settings, limits, own.device.shared_decoder());
  if (files_ == nullptr) files_ = data_files_of(*source_);
  Meters::of_process().add(files_);
  control_.begin(plant, {.keep = [plant](bool on) { plant->sample(on ? SampleReservoir::kMost : 0); },
                         .take = [plant] { return sample_batch(plant->take_samples()); }});
  own.plant = std::move(plant);
}

Settings Loader::first_settings(Own& own) {
  const auto guard = lock();
  Settings settings = settings_now();
  if (own.plant != nullptr && own.device.place(settings, own.plant->stats())) own.plant->apply(settings);
  return settings;
}

bool Loader::on_device() const {
  const auto guard = lock();
  return own_.get() != nullptr && (own_.get()->residence.lives() || own_.get()->upload.used());
}

std::shared_ptr<BatchUpload> Loader::enter_upload(Own& own, const Pass& pass) {
  if (pass.device.empty() || resources_.device) return nullptr;
  const auto guard = lock();
  return own.upload.enter(pass.device, *plan_, *source_);
}

Result<std::unique_ptr<Runner>> Loader::run(Own& own, const Pass& pass, Sampler order, const Settings& settings,
                                            Engine& engine, std::shared_ptr<LateStage> late,
                                            std::shared_ptr<BatchUpload> upload) {
  const std::uint64_t seed = pass.seed ? 0 : plan_->spec.seed;
  own.cache.begin_pass();
  auto residence = [&] {
    const auto guard = lock();
    return own.residence.enter(*plan_, *source_);
  }();
  if (!residence.ok()) return std::move(residence).error();
  RunnerParts parts{.plan = plan_,
                    .source = source_,
                    .sampler = std::move(order),
                    .seed = seed,
                    .settings = settings,
                    .engine = engine,
                    .arena = (upload == nullptr ? own.arena : own.pinned_arena)->take(),
                    .learned = own.cache.learned(),
                    .keeper = own.cache.records(),
                    .kept = own.cache.ranges(),
                    .weights = resources_.weights,
                    .residence = *std::move(residence),
                    .upload = std::move(upload),
                    .late = std::move(late),
                    .ahead = pass.ahead,
                    .cursors = pass.cursors};
  auto runner = make_runner(parts);
  const bool full = !runner.ok() && runner.error().code == ErrorCode::kResourceExhausted;
  const bool leaves = full && (parts.residence != nullptr || parts.upload != nullptr);
  {
    const auto guard = lock();
    own.upload.use(parts.upload != nullptr && !leaves);
    if (!leaves) return runner;
    parts.residence != nullptr ? own.residence.leave(runner.error()) : own.upload.leave(runner.error());
  }
  if (parts.upload != nullptr) parts.arena = own.arena->take();  // of slots of another size
  parts.residence.reset();
  parts.upload.reset();
  return make_runner(std::move(parts));
}

Settings Loader::settings() const {
  const auto guard = lock();
  return settings_now();
}

Settings Loader::settings_now() const {
  if (plant() != nullptr) return plant()->settings();
  const Limits limits = limits_now();
  if (settings_) return fit_settings(*settings_, limits);
  Settings settings = initial_settings(limits, plan_->layout.bytes());
  LoaderDevice::start(settings, resources_.placement);
  return settings;
}

Limits Loader::limits_now() const {
  const Own* own = own_.get();
  return live_limits(*plan_, Engine::get(), own == nullptr ? nullptr : own->device.decoder());
}

KnobSet Loader::knobs() const noexcept { return resources_.knobs(); }

void Loader::apply(const Settings& settings) {
  const auto guard = lock();
  settings_ = settings;
  if (plant() != nullptr) plant()->apply(fit_settings(settings, plant()->limits()));
}

Status Loader::record(const std::string& path) {
  return catching([&] {
    enter_process();
    // Names of files may be any bytes.
    const nlohmann::json about{{"plan", explain()["plan"]}};
    return control_.record(path, about.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  });
}

std::string Loader::take_device_warning() const {
  const auto guard = lock();
  Own* const own = own_.get();
  if (own == nullptr) return {};
  std::string warning = own->residence.take_warning();
  if (warning.empty()) warning = own->upload.take_warning();
  return warning.empty() ? own->device.take_warning() : warning;
}

}  // namespace drapps
