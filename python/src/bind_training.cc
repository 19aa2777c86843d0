// Policies that are trained on simulated plants: drapps._core.PolicyTrainer and validation_episodes.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "drapps/sim/world_json.h"
#include "drapps/training/trainer.h"
#include "shared.h"

namespace nb = nanobind;

namespace drapps {
namespace {

using nb::literals::operator""_a;
using nlohmann::json;
using training::Trainer;

template <class Bytes>
nb::bytes python_bytes(const Bytes& bytes) {
  return nb::bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

training::TrainingOptions training_options(const std::string& text) {
  return value_of(training::training_options_from_json(json::parse(text, nullptr, /*allow_exceptions=*/false)));
}

json point_of(const rl::Progress& each) {
  json point{{"decisions", each.decisions}, {"episodes", each.episodes},     {"explained", each.explained},
             {"entropy", each.entropy},     {"divergence", each.divergence}, {"clipped", each.clipped},
             {"value_loss", each.value}};
  if (std::isfinite(each.reward)) point["reward"] = each.reward;
  return point;
}

/// Paths as the system has them.
std::vector<std::string> paths_of(const std::vector<nb::bytes>& files) {
  std::vector<std::string> paths;
  paths.reserve(files.size());
  for (const nb::bytes& file : files) paths.emplace_back(file.c_str(), file.size());
  return paths;
}

std::unique_ptr<Trainer> begun(const std::string& options, const std::vector<nb::bytes>& runs) {
  const training::TrainingOptions read = training_options(options);
  const std::vector<std::string> paths = paths_of(runs);
  const WithoutGil free;
  return value_of(Trainer::begun(read, paths));
}

std::unique_ptr<Trainer> restored(const nb::bytes& saved, const std::vector<nb::bytes>& runs) {
  const std::span bytes(reinterpret_cast<const std::uint8_t*>(saved.c_str()), saved.size());
  const std::vector<std::string> paths = paths_of(runs);
  const WithoutGil free;
  return value_of(Trainer::restored(bytes, paths));
}

/// What recorded runs say, but for their steps; null where there are none.
std::string support_of(const Trainer& trainer) {
  const auto& recorded = trainer.recorded();
  if (!recorded) return "null";
  json knobs = json::array();
  for (const training::KnobSupport& each : recorded->support) {
    knobs.push_back({{"name", each.name},
                     {"stays", each.stays},
                     {"downs", each.downs},
                     {"ups", each.ups},
                     {"values", {each.least, each.most}},
                     {"learnt", each.learnt}});
  }
  const std::uint64_t steps =
      recorded->support.front().stays + recorded->support.front().downs + recorded->support.front().ups;
  return json{{"runs", recorded->runs},
              {"steps", steps},
              {"drawn", recorded->drawn},
              {"left_out", recorded->left_out},
              {"knobs", knobs}}
      .dump();
}

json knobs_by_name(const Settings& settings, const sim::World& world) {
  json knobs = json::object();
  const Limits limits = sim::limits_of(world);
  for (const Knob& knob : knob_table()) {
    if (limits[knob.id] != Bounds{}) knobs[std::string(knob.name)] = settings[knob.id];
  }
  return knobs;
}

std::string validation_episodes(std::size_t count, std::uint64_t seed, double slower_gpu, double later_reads) {
  std::vector<training::Episode> episodes;
  {
    const WithoutGil free;
    const auto network = value_of(network_of(default_shape()));
    episodes = training::make_episodes({.count = count,
                                        .seed = training::kValidationSeed + seed,
                                        .slower_gpu = slower_gpu,
                                        .later_reads = later_reads},
                                       network.moves.knobs());
  }
  json scenarios = json::array();
  for (const training::Episode& episode : episodes) {
    json segments = json::array();
    for (std::size_t i = 0; i < episode.best.size(); ++i) {
      const sim::Segment& segment = episode.scenario.segments[i];
      segments.push_back({{"begin", segment.begin},
                          {"name", std::to_string(i)},
                          {"world", sim::world_to_json(segment.world)},
                          {"best", knobs_by_name(episode.best[i], segment.world)},
                          {"rate", episode.rates[i]}});
    }
    scenarios.push_back({{"seconds", episode.scenario.seconds},
                         {"seed", episode.scenario.seed},
                         {"processes", episode.scenario.segments.front().world.in_processes()},
                         {"segments", std::move(segments)}});
  }
  return scenarios.dump();
}

}  // namespace

void bind_training(nb::module_& module) {
  nb::class_<Trainer>(module, "PolicyTrainer",
                      "Trains a policy on simulated plants (training/trainer.h). One thread at a time.")
      .def(nb::new_(&begun), "options"_a, "runs"_a = std::vector<nb::bytes>(),
           "Options in JSON, and paths of traces for a learner that takes them. Raises ValueError.")
      .def_static("restored", &restored, "saved"_a, "runs"_a = std::vector<nb::bytes>(),
                  "One that goes on from what save() gave. Raises ValueError.")
      .def_prop_ro("support", &support_of, "What its recorded runs say, in JSON.")
      .def(
          "go_on",
          [](Trainer& self, int updates) {
            const WithoutGil free;
            for (int i = 0; i < updates && !self.done(); ++i) self.go_on();
          },
          "updates"_a = 1)
      .def_prop_ro("done", &Trainer::done)
      .def_prop_ro("options", [](const Trainer& self) { return training_options_to_json(self.options()).dump(); })
      .def(
          "curve",
          [](const Trainer& self) {
            json points = json::array();
            for (const rl::Progress& each : self.curve()) points.push_back(point_of(each));
            return points.dump();
          },
          "The progress at every update, in JSON.")
      .def("weights", [](const Trainer& self) { return python_bytes(self.weights()); })
      .def("save", [](Trainer& self) { return python_bytes(self.save()); });
  module.def("validation_episodes", &validation_episodes, "count"_a, "seed"_a = 0, "slower_gpu"_a = 1.0,
             "later_reads"_a = 1.0,
             "Scenarios in JSON that no training has seen: simulate() takes each, and its segments have beside their "
             "world the best settings found for it, and their rate.");
}

}  // namespace drapps
