#include "drapps/training/trainer.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "drapps/control/simulation.h"
#include "drapps/plant/schema.h"
#include "drapps/policy/published.h"
#include "drapps/policy/registry.h"

namespace drapps::training {
namespace {

constexpr std::string_view kCheckpoint = "drapps-training 3\n";
constexpr std::uint64_t kLooksForHardest = 10;  // of a training
constexpr std::size_t kHardestOf = 5;           // one episode in so many is hard
constexpr double kStayBias = 1.5;  // of the logits at the beginning: an untrained policy mostly stays where it is

template <class Number>
void put(std::vector<std::uint8_t>& out, const Number& number) {
  const auto* at = reinterpret_cast<const std::uint8_t*>(&number);
  out.insert(out.end(), at, at + sizeof number);
}

template <class Number>
bool take(std::span<const std::uint8_t>& from, Number& number) {
  if (from.size() < sizeof number) return false;
  std::memcpy(&number, from.data(), sizeof number);
  from = from.subspan(sizeof number);
  return true;
}

std::string_view text_of(std::span<const std::uint8_t> bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Error no_checkpoint() {
  return Error{.code = ErrorCode::kCorrupt, .message = "this is no checkpoint of a training, or it is damaged"};
}

/// The mean over an episode's segments of the rate over the best one known.
double episode_value(const Episode& episode, std::unique_ptr<Policy> policy, const Settings& start) {
  const sim::RunResult done = sim::run(episode.scenario, std::move(policy), start);
  double sum = 0;
  for (std::size_t i = 0; i < done.segments.size(); ++i) {
    const sim::Totals& totals = done.segments[i].totals;
    sum += totals.samples / totals.seconds / episode.rates[i];
  }
  return sum / static_cast<double>(done.segments.size());
}

/// How far a policy is behind what is simple: settings that stay, from where those begin, or the heuristic from where
/// a loader begins.
double behind_of(const Episode& episode, const PolicyConfig& config) {
  const auto learned = [&](const Settings& start) { return episode_value(episode, *make_policy(config), start); };
  const double warm = episode_value(episode, nullptr, episode.best.front()) - learned(episode.best.front());
  const double begun =
      episode_value(episode, *make_policy({.name = std::string(kBasePolicies.front())}), episode.initial) -
      learned(episode.initial);
  return std::max(warm, begun);
}

/// The knobs of DRAPPS's own policies: what is best on a machine does not hang on who moves what.
std::vector<KnobId> searched_knobs() {
  std::vector<KnobId> knobs;
  for (const NamedKnob& knob : default_shape().knobs) {
    knobs.push_back(std::ranges::find(knob_table(), std::string_view(knob.name), &Knob::name)->id);
  }
  return knobs;
}

bool moves_processes(const LearnedShape& shape) {
  return std::ranges::find(shape.knobs, "processes", &NamedKnob::name) != shape.knobs.end();
}

}  // namespace

Result<std::unique_ptr<Trainer>> Trainer::begun(const TrainingOptions& options, const std::vector<std::string>& runs) {
  const std::string name(learner_name(options));
  const bool offline = options.kind == LearnerKind::kOffline;
  if (!offline && !runs.empty())
    return invalid("the learner " + name + " tries things: it cannot learn from recorded runs");
  if (offline && runs.empty()) return invalid("the learner " + name + " learns from recorded runs, and there are none");
  if (options.episodes.world && options.episodes.world->in_processes() && !moves_processes(shape_of(options))) {
    const bool own = options.design.empty();
    return invalid("the recorded runs are of worker processes, and " + name +
                   " moves none: nothing can be learnt from them" +
                   (own ? " (the policy trials moves them; trials=0 lets " + name + " do it)" : ""));
  }
  std::optional<Recorded> recorded;
  if (offline) {
    auto read = read_recorded(runs, default_shape(options.learner.hidden), options.plant.reward);
    if (!read.ok()) return std::move(read).error();
    recorded = *std::move(read);
  }
  return std::unique_ptr<Trainer>(new Trainer(options, std::move(recorded)));
}

Trainer::Trainer(const TrainingOptions& options, std::optional<Recorded> recorded)
    : options_(options),
      recorded_(std::move(recorded)),
      shape_(recorded_ ? recorded_->shape : shape_of(options)),
      learner_(made_learner()) {}

LearnedShape Trainer::shape_of(const TrainingOptions& options) {
  LearnedShape own = default_shape(options.learner.hidden);
  own.remembers_best = options.best != 0 && options.design != kResidual;
  own.falls_back = options.fallback != 0 && options.design != kResidual;
  if (options.design == kResidual) {
    own.over = kBasePolicies.front();
  } else if (options.trials != 0) {
    own.over = "trials";
    std::erase_if(own.knobs, [](const NamedKnob& each) { return each.name == "processes"; });
  } else if (options.far != 0) {
    std::ranges::find(own.knobs, "processes", &NamedKnob::name)->move = KnobMove::kNotches;
  }
  if (options.form != 0) own.knobs.push_back(named_knob(KnobId::kForm, KnobMove::kAny));
  if (options.look_ahead == 0) {
    constexpr std::string_view kToCome = "upcoming.";
    std::erase_if(own.features, [&](const NamedFeature& each) { return each.name.starts_with(kToCome); });
    std::erase_if(own.differences, [&](const std::string& each) { return each.starts_with(kToCome); });
  }
  return published_shape(options.design, options.learner.hidden).value_or(std::move(own));
}

std::unique_ptr<rl::Training> Trainer::made_learner() {
  // The shape is this library's own, so it fits.
  const auto network = std::make_shared<const LearnedNetwork>(*network_of(shape_));
  if (recorded_) {
    return std::make_unique<rl::OfflineLearner>(options_.offline, network->moves.heads(),
                                                std::exchange(recorded_->steps, {}));
  }
  EpisodeOptions episodes = options_.episodes;
  episodes.processes = moves_processes(shape_);
  course_ = std::make_shared<Course>(Course{make_episodes(episodes, searched_knobs())});
  const auto make = [&] { return std::make_unique<PlantEnvironment>(course_, network, options_.plant); };
  std::unique_ptr<rl::Training> learner;
  if (options_.kind == LearnerKind::kSac) {
    learner = std::make_unique<rl::SacLearner>(options_.sac, make);
  } else {
    learner = std::make_unique<rl::Learner>(options_.learner, make);
  }
  const std::span<float> biases = learner->actor().parameters().last(network->moves.heads().outputs());
  std::size_t at = 0;
  for (std::size_t i = 0; i < shape_.knobs.size(); ++i) {
    const KnobMove move = shape_.knobs[i].move;
    if (move == KnobMove::kNotch || move == KnobMove::kNotches)
      biases[at + LearnedMoves::kStay] = static_cast<float>(kStayBias);
    at += network->moves.heads().all()[i].outputs();
  }
  return learner;
}

const rl::Progress& Trainer::go_on() {
  const std::uint64_t before = curve_.empty() ? 0 : curve_.back().decisions;
  curve_.push_back(learner_->go_on());
  const std::uint64_t every = std::max<std::uint64_t>(options_.learner.decisions / kLooksForHardest, 1);
  if (options_.plant.hard > 0 && !done() && before / every != curve_.back().decisions / every) look_for_hardest();
  return curve_.back();
}

void Trainer::look_for_hardest() {
  const PolicyConfig config{.name = std::string(learner_name(options_)), .weights = weights()};
  std::vector<std::pair<double, std::uint32_t>> behind;
  for (std::uint32_t place = 0; place < course_->episodes.size(); ++place) {
    behind.emplace_back(-behind_of(course_->episodes[place], config), place);
  }
  std::ranges::sort(behind);
  const std::size_t count = std::max<std::size_t>(1, behind.size() / kHardestOf);
  std::vector<std::uint32_t>& hardest = course_->hardest.emplace_back();
  for (std::size_t i = 0; i < count; ++i) hardest.push_back(behind[i].second);
}

std::vector<std::byte> Trainer::weights() const {
  return weights_to_bytes(shape_, std::as_const(*learner_).actor().parameters());
}

std::vector<std::uint8_t> Trainer::save() {
  static_assert(std::is_trivially_copyable_v<rl::Progress>);
  std::vector<std::uint8_t> out(kCheckpoint.begin(), kCheckpoint.end());
  const std::string options = training_options_to_json(options_).dump();
  put(out, std::uint64_t{options.size()});
  out.insert(out.end(), options.begin(), options.end());
  put(out, recorded_ ? recorded_->hash : std::uint64_t{0});
  put(out, std::uint64_t{course_ ? course_->hardest.size() : 0});
  for (std::size_t i = 0; course_ && i < course_->hardest.size(); ++i) {
    put(out, std::uint64_t{course_->hardest[i].size()});
    for (const std::uint32_t place : course_->hardest[i]) put(out, place);
  }
  put(out, std::uint64_t{curve_.size()});
  for (const rl::Progress& each : curve_) put(out, each);
  const std::vector<std::uint8_t> learner = learner_->save();
  out.insert(out.end(), learner.begin(), learner.end());
  put(out, hash_of(text_of(out)));
  return out;
}

Result<std::unique_ptr<Trainer>> Trainer::restored(std::span<const std::uint8_t> saved,
                                                   const std::vector<std::string>& runs) {
  const std::size_t hashed = saved.size() - std::min<std::size_t>(saved.size(), 8);
  std::span<const std::uint8_t> end = saved.subspan(hashed);
  std::span<const std::uint8_t> left = saved.first(hashed);
  std::uint64_t number = 0;
  if (!text_of(left).starts_with(kCheckpoint) || !take(end, number) || number != hash_of(text_of(left))) {
    return no_checkpoint();
  }
  left = left.subspan(kCheckpoint.size());
  if (!take(left, number) || number > left.size()) return no_checkpoint();
  auto options = training_options_from_json(
      nlohmann::json::parse(text_of(left.first(number)), nullptr, /*allow_exceptions=*/false));
  if (!options.ok()) return std::move(options).error();
  left = left.subspan(number);
  std::uint64_t learnt_from = 0;
  std::vector<std::vector<std::uint32_t>> hardest;
  if (!take(left, learnt_from) || !take(left, number) || number > kLooksForHardest) return no_checkpoint();
  hardest.resize(number);
  for (std::vector<std::uint32_t>& each : hardest) {
    if (!take(left, number) || number == 0 || number > options->episodes.count) return no_checkpoint();
    each.resize(number);
    for (std::uint32_t& place : each) {
      if (!take(left, place) || place >= options->episodes.count) return no_checkpoint();
    }
  }
  if (!take(left, number) || number > left.size() / sizeof(rl::Progress)) return no_checkpoint();
  auto result = begun(*options, runs);
  if (!result.ok()) return result;
  const std::unique_ptr<Trainer>& trainer = *result;
  if (const auto& recorded = trainer->recorded_; recorded && recorded->hash != learnt_from) {
    return invalid("this checkpoint is of a training from other recorded runs: take those, or another folder");
  }
  if (trainer->course_) trainer->course_->hardest = std::move(hardest);
  trainer->curve_.resize(number);
  for (rl::Progress& each : trainer->curve_) take(left, each);
  DRAPPS_RETURN_IF_ERROR(trainer->learner_->restore(left));
  return result;
}

}  // namespace drapps::training
