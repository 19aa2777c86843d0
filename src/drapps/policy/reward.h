// What a decision is worth to a policy that learns: four measures, of which each published design has its own.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace drapps {

/// What happened from one decision to the next.
struct Stretch {
  double rate = 0;          // samples/s that the training took
  double best = 0;          // samples/s that are known to be possible here
  double held = 0;          // samples/s that the settings which were best at first would give; 0: not known
  double asked = 0;         // samples/s that the training would take if it never waited; 0: as many as it gets
  double stall = 0;         // share of its time that it waited
  double gpu = 0;           // share of the time in which the accelerator worked; of a training without one, trained
  double cpu = 0;           // share of the machine's cores that the loader used
  double threads = 0;       // makers over twice the cores, or worker processes over as many as there may be
  double memory = 0;        // share of the RAM budget
  std::uint32_t moves = 0;  // of knobs
};

enum class RewardKind : std::uint8_t {
  kOwn,     // goodput - w0 threads - w1 memory - w2 moves - w3 (what held settings have more of the best rate)
  kPaperA,  // w0 throughput - w1 latency - w2 GPU idle - w3 imbalance
  kPaperB,  // -(w0 latency + w1 |u_gpu - u_cpu|)
  kPaperC,  // -(latency + w0 [u_gpu < w1])
};

struct Reward {
  RewardKind kind = RewardKind::kOwn;
  std::array<double, 4> weights{0.04, 0.05, 0.004, 0};
};

/// "own", "paper-a", "paper-b" or "paper-c" with the weights that it has where none are named; nothing otherwise.
std::optional<Reward> reward_named(std::string_view name) noexcept;
std::string_view name_of(RewardKind kind) noexcept;

/// Goodput is `rate` over `best`, and at most 1.2; throughput is `rate` over `asked`, latency is `stall`. All lie in
/// [0, 1] but for the goodput.
double reward_of(const Reward& reward, const Stretch& stretch) noexcept;

}  // namespace drapps
