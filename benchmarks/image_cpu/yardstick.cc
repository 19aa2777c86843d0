// The yardstick of scenario image-cpu: what the kernels alone do on all cores.
//
//   yardstick '{"files": LIST, "rows": N, "batch": 64, "crop": 224, "seed": 0, "pass_order": "pillow13",
//               "mean": [...], "std": [...], "threads": 2}'
//
// 1. All files named in LIST, one a line, are read before any clock starts. Sample i of the N is file i mod count.
// 2. Each thread takes the next row of the epoch's shuffled order, and decodes (the crop alone, by libjpeg-turbo),
//    resizes, mirrors and normalises it into its place of a preallocated batch: the crops, in the order, of a
//    drapps.Loader with that seed, so the same bytes. There is no queue, no input or output and no consumer.
// 3. Commands are lines of JSON on standard input, each answered by a line on standard output:
//    {"check": K}                      the CRC-32 of each of the first K batches
//    {"warm_s": W, "measure_s": S}     the loop for W seconds, then S seconds by the clock
#include <atomic>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "benchmarks/program.h"
#include "drapps/augment/picture/random_resized_crop.h"
#include "drapps/base/clock.h"
#include "drapps/decode/crc32.h"
#include "drapps/decode/jpeg/structure.h"
#include "drapps/decode/jpeg/turbo_reader.h"
#include "drapps/kernel/normalize.h"
#include "drapps/source/sampler.h"

namespace drapps {
namespace {

using bench::File;
using bench::json;
using bench::must;

// Nobody reads the batches; they are as many as keeps threads apart that are not equally fast.
constexpr std::uint64_t kBatches = 4;

/// What one thread works in.
struct Bench {
  jpeg::TurboReader reader{MemoryLedger::unlimited()};
  kernel::Resizer resizer{MemoryLedger::unlimited()};
  ImageBuffer decoded{MemoryLedger::unlimited()};
  ImageBuffer resized{MemoryLedger::unlimited()};
};

class Yardstick {
 public:
  explicit Yardstick(const json& spec)
      : files_(bench::read_all(spec.at("files"))),
        batch_(spec.at("batch")),
        sampler_(must(Sampler::make(
            {.size = spec.at("rows"), .shuffle = true, .seed = spec.at("seed"), .batch = batch_}, /*epoch=*/0))),
        normalizer_(must(kernel::Normalizer::standard(spec.at("mean").get<std::vector<float>>(),
                                                      spec.at("std").get<std::vector<float>>()))),
        benches_(spec.at("threads").get<std::size_t>()) {
    crop_.height = crop_.width = spec.at("crop");
    if (!parse(spec.at("pass_order").get<std::string>(), crop_.pass_order)) bench::fail("unknown pass order");
    row_bytes_ = kernel::row_size({}, 3, crop_.height, crop_.width);
    must(batches_.ensure(kBatches * batch_bytes()));
    std::memset(batches_.data(), 0, kBatches * batch_bytes());
  }

  json answer(const json& command) {
    if (command.contains("check")) return check(command["check"]);
    return measure(command.at("warm_s"), command.at("measure_s"));
  }

 private:
  json check(std::uint64_t batches) {
    json sums = json::array();
    for (std::uint64_t n = 0; n < batches * batch_; ++n) {
      make(n, benches_.front());
      if ((n + 1) % batch_ == 0)
        sums.push_back(crc32({batches_.data() + n / batch_ % kBatches * batch_bytes(), batch_bytes()}));
    }
    return {{"crc32", sums}};
  }

  json measure(double warm_s, double measure_s) {
    std::atomic<bool> stop{false};
    std::atomic<std::uint64_t> made{0};
    std::vector<std::jthread> threads;
    threads.reserve(benches_.size());
    for (Bench& bench : benches_) {
      threads.emplace_back([&] {
        while (!stop.load(std::memory_order_relaxed)) {
          make(next_.fetch_add(1, std::memory_order_relaxed) % sampler_.rows(), bench);
          made.fetch_add(1, std::memory_order_relaxed);
        }
      });
    }
    std::this_thread::sleep_for(std::chrono::duration<double>(warm_s));
    const std::uint64_t made_before = made, wall_before = monotonic_ns(), cpu_before = process_cpu_ns();
    std::this_thread::sleep_for(std::chrono::duration<double>(measure_s));
    const std::uint64_t cpu = process_cpu_ns() - cpu_before;
    const std::uint64_t samples = made - made_before, wall = monotonic_ns() - wall_before;
    stop = true;
    return {{"samples", samples},
            {"seconds", 1e-9 * static_cast<double>(wall)},
            {"cpu_s", 1e-9 * static_cast<double>(cpu)}};
  }

  std::size_t batch_bytes() const { return batch_ * row_bytes_; }

  /// Row n of the epoch, into its place.
  void make(std::uint64_t n, Bench& bench) {
    const Sampler::Row row = sampler_.row(n / batch_, static_cast<std::uint32_t>(n % batch_));
    const File& file = files_[row.index % files_.size()];
    const Coordinate at = sampler_.coordinate(row.position);
    const ImageInfo info = must(jpeg::inspect(file, {}));
    const Rect region = crop_.region(info.extent, Draws(at, 1));
    ImageView image = must(bench.decoded.reshape(3, region.height, region.width));
    must(bench.reader.read(file, info, region, image));
    if (region.height != crop_.height || region.width != crop_.width) {
      const ImageView out = must(bench.resized.reshape(3, crop_.height, crop_.width));
      must(bench.resizer.resize(out, image, kernel::Filter::kBilinear, crop_.pass_order));
      image = out;
    }
    const bool mirror = Draws(at, 2).coin(0.5);
    normalizer_.store(batches_.data() + n / batch_ % kBatches * batch_bytes() + n % batch_ * row_bytes_, image, {},
                      mirror);
  }

  const std::vector<File> files_;
  const std::uint32_t batch_;
  const Sampler sampler_;
  const kernel::Normalizer normalizer_;
  RandomResizedCrop crop_;
  std::size_t row_bytes_ = 0;
  Buffer batches_{MemoryLedger::unlimited()};
  std::vector<Bench> benches_;
  std::atomic<std::uint64_t> next_{0};
};

}  // namespace
}  // namespace drapps

int main(int argc, char** argv) { return drapps::bench::serve<drapps::Yardstick>(argc, argv); }
