#include "drapps/rl/sac_learner.h"

#include <algorithm>

#include "drapps/rl/checkpoint.h"

namespace drapps::rl {
namespace {

SacNets<float> nets_of(const SacLearnerOptions& options, const Environment& environment, Random& random) {
  SacNets<float> nets(environment.heads(), environment.inputs(), options.hidden);
  nets.actor.begin(random, 0.01);
  for (Mlp<float>& critic : nets.critics) critic.begin(random, 1);
  nets.slow = nets.critics;
  return nets;
}

}  // namespace

SacLearner::SacLearner(const SacLearnerOptions& options, const Make& make)
    : options_(options), random_(options.seed, 1), sac_(nets_of(options, *make(), random_), options.sac) {
  kept_.resize(options.kept, actor().inputs(), heads().outputs(), heads().values());
  episodes_.resize(options.environments);
  for (RunningEpisode& episode : episodes_) {
    episode.environment = make();
    episode.begin(random_);
  }
}

void SacLearner::keep(std::span<const float> before, std::span<const std::uint8_t> mask, const float* action,
                      const Outcome& outcome, const Environment& after) {
  const std::size_t row = decisions_ % options_.kept;
  std::ranges::copy(before, kept_.inputs.data() + row * before.size());
  std::ranges::copy(mask, kept_.masks.data() + row * mask.size());
  std::copy_n(action, heads().values(), kept_.actions.data() + row * heads().values());
  kept_.rewards[row] = static_cast<float>(outcome.reward);
  kept_.ended[row] = outcome.ended ? 1 : 0;
  after.look(kept_.next_inputs.data() + row * before.size(), kept_.next_masks.data() + row * mask.size());
  ++decisions_;
}

Progress SacLearner::go_on() {
  const std::size_t count = episodes_.size();
  const std::size_t inputs = actor().inputs();
  const std::size_t outputs = heads().outputs();
  std::vector<float> seen(count * inputs), action(heads().values());
  std::vector<std::uint8_t> masks(count * outputs);
  Mlp<float>::MlpPass pass;
  Progress progress;
  double sums = 0;
  for (std::size_t t = 0; t < options_.steps; ++t) {
    for (std::size_t i = 0; i < count; ++i) {
      episodes_[i].environment->look(seen.data() + i * inputs, masks.data() + i * outputs);
    }
    const std::span<const float> drawn_from = std::as_const(*this).actor().forward(seen.data(), count, pass);
    for (std::size_t i = 0; i < count; ++i) {
      RunningEpisode& episode = episodes_[i];
      const std::span mask = std::span(masks).subspan(i * outputs, outputs);
      heads().sample(drawn_from.data() + i * outputs, mask.data(), random_, action.data());
      const Outcome outcome = episode.step(action.data(), action.size());
      keep(std::span(seen).subspan(i * inputs, inputs), mask, action.data(), outcome, *episode.environment);
      if (!outcome.ended && !outcome.cut) continue;
      ++progress.episodes;
      sums += episode.sum;
      episode.begin(random_);
    }
  }
  const std::uint64_t rows = std::min<std::uint64_t>(decisions_, options_.kept);
  std::vector<std::uint32_t> places(options_.batch);
  Transitions<float> batch;
  const double share = 1 / static_cast<double>(options_.updates);
  for (std::size_t update = 0; update < options_.updates; ++update) {
    for (std::uint32_t& place : places) place = random_.below(static_cast<std::uint32_t>(rows));
    gather<float>(kept_, places, batch);
    const SacLosses losses = sac_.update(batch, random_);
    progress.policy += share * losses.actor;
    progress.value += share * losses.critic;
    progress.entropy += share * losses.entropy;
  }
  progress.decisions = decisions_;
  if (progress.episodes > 0) progress.reward = sums / static_cast<double>(progress.episodes);
  return progress;
}

template <class Visit>
void SacLearner::visit_memory(const Visit& visit) {
  visit(decisions_);
  visit(drawn_);
  sac_.visit_memory(visit);
  for (RunningEpisode& episode : episodes_) episode.visit_memory(visit);
  kept_.each_array(actor().inputs(), heads().outputs(), heads().values(),
                   [&](auto& array, std::size_t) { visit(array); });
}

/// Rows that nothing was put into yet are kept too: they are zeros.
std::vector<std::uint8_t> SacLearner::save() {
  ByteWriter writer;
  drawn_ = random_.drawn();
  visit_memory(writer);
  return writer.take();
}

Status SacLearner::restore(std::span<const std::uint8_t> saved) {
  const ByteReader reader(saved);
  visit_memory(reader);
  bool whole = reader.good();
  kept_.each_array(actor().inputs(), heads().outputs(), heads().values(), [&](const auto& array, std::size_t width) {
    whole = whole && array.size() == options_.kept * width;
  });
  if (!whole) return no_such_checkpoint();
  random_.seek(drawn_);
  for (RunningEpisode& episode : episodes_) DRAPPS_RETURN_IF_ERROR(episode.resume(heads().values()));
  return ok_status();
}

}  // namespace drapps::rl
