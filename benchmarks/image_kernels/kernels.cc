// The program of scenario image-kernels: every way to the crops, in one process, in turn.
//
//   image_kernels '{"files": LIST, "crop": 224, "seed": 0, "pass_order": "pillow13"}'
//
// 1. Before any clock starts, all files named in LIST are read and brought into the coefficient form as well, and the
//    indexes are learnt that two epochs give.
// 2. Every contestant makes the same crops of the same files: those that a loader with that seed draws in one epoch.
//    They go through them some pictures at a time, and another one begins each time, so that whatever else the machine
//    does hits all alike. Each is at another place of the order, so that none finds in a cache what another has read.
// 3. Every epoch begins with the same knowledge: nothing, or what two epochs gave.
//
// Commands are lines of JSON on standard input, each answered by a line on standard output:
//   {"describe": true}                            the SIMD level, mean sizes, and what is known after each of the two
//   epochs
//   {"check": K}                                  the first K crops of epoch 2, and by contestant the CRC-32 of each
//   {"round": R, "pictures": K}                   by contestant: K crops of epoch 2 + R, timed
//   {"scale": NAME, "threads": T, "pictures": K, "passes": P}    P times K crops of epoch 2 on T threads, timed
//   {"stages": K}                                 microseconds per crop and stage
#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "benchmarks/image_kernels/contestant.h"
#include "benchmarks/image_kernels/knowledge.h"
#include "benchmarks/image_kernels/stages.h"
#include "drapps/base/clock.h"
#include "drapps/decode/crc32.h"

namespace drapps::bench {
namespace {

using kernel::Level;

constexpr std::uint32_t kLearnt = 2;  // epochs
constexpr std::size_t kAtATime = 8;   // pictures: some milliseconds

/// A contestant, on as many threads as are asked for.
struct Entrant {
  std::string name;
  std::function<std::unique_ptr<Contestant>()> enter;
  std::vector<std::unique_ptr<Contestant>> crew;

  Contestant& member(std::size_t number) {
    while (crew.size() <= number) crew.push_back(enter());
    return *crew[number];
  }
};

class Kernels {
 public:
  explicit Kernels(const json& spec) : photos_(spec) {
    description_ = {{"level", kernel::name_of(kernel::active_level())},
                    {"file_bytes", mean_bytes(&PhotoSet::file)},
                    {"coefficient_bytes", mean_bytes(&PhotoSet::coefficients)},
                    {"index", index_.learn(kLearnt)},
                    {"index_rows", rows_.learn(kLearnt)}};
    for (Knowledge* each : {&avx512_index_, &avx2_index_}) each->learn_from(index_);
    const Level best = kernel::active_level();
    add("yardstick", [this, best] { return turbo_part(photos_, best); });
    add("full", [this, best] { return turbo_whole(photos_, best); });
    add("sequential", [this, best] { return indexed(photos_, best, nothing_); });
    add("index", [this, best] { return indexed(photos_, best, index_); });
    add("index_rows", [this, best] { return indexed(photos_, best, rows_); });
    add("coefficients", [this, best] { return expanded(photos_, best); });
    if (best > Level::kAvx512) add_lower(Level::kAvx512, avx512_nothing_, avx512_index_);
    if (best >= Level::kAvx2) add_lower(Level::kAvx2, avx2_nothing_, avx2_index_);
  }

  json answer(const json& command) {
    if (command.contains("describe")) return description_;
    if (command.contains("check")) return check(command["check"]);
    if (command.contains("round")) return round(command["round"], command.at("pictures"));
    if (command.contains("scale")) {
      return scale(command["scale"], command.at("threads"), command.at("pictures"), command.at("passes"));
    }
    return stages(photos_, photos_.epoch(kLearnt, command.at("stages")), nothing_, index_);
  }

 private:
  void add(std::string name, std::function<std::unique_ptr<Contestant>()> enter) {
    entrants_.push_back({std::move(name), std::move(enter), {}});
  }

  /// The same decoders at a level that is not the best of the machine.
  void add_lower(Level level, Knowledge& nothing, Knowledge& index) {
    const std::string prefix = std::string(name_of(level)) + "_";
    add(prefix + "sequential", [this, level, &nothing] { return indexed(photos_, level, nothing); });
    add(prefix + "index", [this, level, &index] { return indexed(photos_, level, index); });
    add(prefix + "coefficients", [this, level] { return expanded(photos_, level); });
  }

  double mean_bytes(std::span<const std::uint8_t> (PhotoSet::*bytes_of)(std::uint64_t) const) const {
    double sum = 0;
    for (std::uint64_t record = 0; record < photos_.size(); ++record) {
      sum += static_cast<double>((photos_.*bytes_of)(record).size());
    }
    return sum / static_cast<double>(photos_.size());
  }

  void restart() {
    for (Knowledge* each :
         {&nothing_, &index_, &rows_, &avx512_nothing_, &avx512_index_, &avx2_nothing_, &avx2_index_}) {
      each->restart();
    }
  }

  json check(std::uint64_t count) {
    restart();
    const auto pictures = photos_.epoch(kLearnt, count);
    json result{{"pictures", json::array()}, {"crc32", json::object()}};
    for (const Picture& picture : pictures) {
      result["pictures"].push_back(
          {{"file", picture.record}, {"epoch", picture.at.epoch}, {"position", picture.at.position}});
    }
    for (Entrant& entrant : entrants_) {
      for (const Picture& picture : pictures) {
        result["crc32"][entrant.name].push_back(checksum(entrant.member(0).make(picture)));
      }
    }
    return result;
  }

  /// Of the pixels, plane by plane and row by row, without what lies between.
  std::uint32_t checksum(ConstImageView picture) {
    dense_.clear();
    for (std::int32_t c = 0; c < picture.channels; ++c) {
      for (std::int32_t y = 0; y < picture.height; ++y) {
        dense_.insert(dense_.end(), picture.row(c, y), picture.row(c, y) + picture.width);
      }
    }
    return crc32(dense_);
  }

  json round(std::uint32_t number, std::uint64_t count) {
    restart();
    const auto pictures = photos_.epoch(kLearnt + number, count);
    const std::size_t turns = (pictures.size() + kAtATime - 1) / kAtATime;
    struct Time {
      std::uint64_t wall = 0, cpu = 0;
    };
    std::vector<Time> times(entrants_.size());
    for (std::size_t turn = 0; turn < turns; ++turn) {
      for (std::size_t i = 0; i < entrants_.size(); ++i) {
        const std::size_t who = (turn + i) % entrants_.size();
        const std::size_t place = (turn + who * turns / entrants_.size()) % turns;
        Contestant& contestant = entrants_[who].member(0);
        const std::size_t end = std::min((place + 1) * kAtATime, pictures.size());
        const std::uint64_t wall = monotonic_ns(), cpu = thread_cpu_ns();
        for (std::size_t n = place * kAtATime; n < end; ++n) contestant.make(pictures[n]);
        times[who].cpu += thread_cpu_ns() - cpu;
        times[who].wall += monotonic_ns() - wall;
      }
    }
    json result;
    for (std::size_t who = 0; who < entrants_.size(); ++who) {
      result[entrants_[who].name] = timed(pictures.size(), times[who].wall, times[who].cpu);
    }
    return result;
  }

  json scale(const std::string& name, std::size_t threads, std::uint64_t count, std::uint32_t passes) {
    const auto found = std::find_if(entrants_.begin(), entrants_.end(), [&](auto& each) { return each.name == name; });
    if (found == entrants_.end()) fail("no contestant is called " + name);
    const auto pictures = photos_.epoch(kLearnt, count);
    found->member(threads - 1);
    std::uint64_t wall = 0, cpu = 0;
    for (std::uint32_t pass = 0; pass < passes; ++pass) {
      restart();
      std::atomic<std::size_t> next{0};
      const std::uint64_t wall_before = monotonic_ns(), cpu_before = process_cpu_ns();
      {
        std::vector<std::jthread> crew;
        crew.reserve(threads);
        for (std::size_t i = 0; i < threads; ++i) {
          crew.emplace_back([&pictures, &next, &contestant = found->member(i)] {
            for (std::size_t n = next++; n < pictures.size(); n = next++) contestant.make(pictures[n]);
          });
        }
      }
      cpu += process_cpu_ns() - cpu_before;
      wall += monotonic_ns() - wall_before;
    }
    return timed(passes * pictures.size(), wall, cpu);
  }

  static json timed(std::size_t samples, std::uint64_t wall, std::uint64_t cpu) {
    return {{"samples", samples},
            {"seconds", 1e-9 * static_cast<double>(wall)},
            {"cpu_s", 1e-9 * static_cast<double>(cpu)},
            {"cpu_us_per_image", 1e-3 * static_cast<double>(cpu) / static_cast<double>(samples)}};
  }

  const PhotoSet photos_;
  Knowledge nothing_{photos_, Grain::kFine}, index_{photos_, Grain::kFine}, rows_{photos_, Grain::kRows};
  Knowledge avx512_nothing_{photos_, Grain::kFine}, avx512_index_{photos_, Grain::kFine};
  Knowledge avx2_nothing_{photos_, Grain::kFine}, avx2_index_{photos_, Grain::kFine};
  std::vector<Entrant> entrants_;
  json description_;
  File dense_;
};

}  // namespace
}  // namespace drapps::bench

int main(int argc, char** argv) { return drapps::bench::serve<drapps::bench::Kernels>(argc, argv); }
