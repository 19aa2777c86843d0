#include "drapps/policy/published.h"

#include <algorithm>

namespace drapps {
namespace {

constexpr std::array<std::string_view, 27> kSeenByA{
    "meter.cpu_use",          "meter.gpu_use_mean",   "meter_valid.gpu_use_mean",
    "meter.gpu_memory",       "memory.used",          "meter.cpu_iowait",
    "meter.disk_busy",        "meter.disk_read_time", "meter.network_received",
    "storage.waited",         "storage.latency",      "storage.depth_used",
    "workers.window",         "workers.storage",      "batches.ready",
    "consumer.stall",         "consumer.step_spread", "upcoming.bytes",
    "upcoming.pixels",        "knob.workers",         "knob.prefetch_depth",
    "knob.decode_on_gpu",     "knob.augment_on_gpu",  "knob.form.bytes",
    "knob.form.coefficients", "knob.form.raw",        "knob.processes"};
constexpr std::array<std::string_view, 4> kSeenByOthers{"meter.cpu_use", "meter.gpu_use_mean", "memory.used",
                                                        "meter.disk_busy"};

}  // namespace

std::optional<LearnedShape> published_shape(std::string_view name, std::size_t hidden) {
  LearnedShape shape{.hidden = {hidden, hidden}};
  if (name == "paper-a") {
    shape.features = named_features(kSeenByA);
    shape.knobs = {named_knob(KnobId::kWorkers),
                   named_knob(KnobId::kProcesses),
                   named_knob(KnobId::kPrefetchDepth),
                   named_knob(KnobId::kForm, KnobMove::kAny),
                   named_knob(KnobId::kDecodeOnGpu, KnobMove::kShare),
                   named_knob(KnobId::kAugmentOnGpu, KnobMove::kEnds)};
    return shape;
  }
  shape.features = named_features(kSeenByOthers);
  if (name == "paper-b") {
    shape.knobs = {named_knob(KnobId::kDecodeOnGpu, KnobMove::kEnds),
                   named_knob(KnobId::kAugmentOnGpu, KnobMove::kEnds)};
    return shape;
  }
  if (name == "paper-c") {
    shape.lanes = {"decode", "augment", "tokenise", "transfer"};
    shape.whole_shares = true;
    return shape;
  }
  return std::nullopt;
}

KnobClock learned_pace(std::string_view name) noexcept {
  const auto* const design = std::ranges::find(kPublishedDesigns, name, &PublishedDesign::name);
  return design == kPublishedDesigns.end() ? kLearnedPace : design->pace;
}

}  // namespace drapps
