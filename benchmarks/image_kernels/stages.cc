// Our decoder is taken apart here as jpeg::Reader puts it together: Huffman decoding is what the renderer waits for.
// Clocks are read between two stages, and twice for each row of MCUs.
#include "benchmarks/image_kernels/stages.h"

#include <array>

#include "drapps/base/clock.h"
#include "drapps/data/image.h"
#include "drapps/decode/crc32.h"
#include "drapps/decode/jpeg/frame.h"
#include "drapps/decode/jpeg/render.h"
#include "drapps/decode/jpeg/scan_reader.h"
#include "drapps/decode/jpeg/structure.h"
#include "drapps/decode/jpeg/turbo_reader.h"
#include "drapps/kernel/resize.h"

namespace drapps::bench {
namespace {

/// Nanoseconds since the last stage ended.
class Laps {
 public:
  std::uint64_t next() {
    const std::uint64_t before = last_;
    last_ = monotonic_ns();
    return last_ - before;
  }

 private:
  std::uint64_t last_ = monotonic_ns();
};

class TimedBlocks final : public jpeg::BlockSource {
 public:
  explicit TimedBlocks(jpeg::BlockSource& blocks) : blocks_(blocks) {}

  bool read(std::int32_t row, std::int32_t first, std::int32_t count,
            const kernel::jpeg::BlockTargets& targets) override {
    Laps laps;
    const bool good = blocks_.read(row, first, count, targets);
    ns_ += laps.next();
    return good;
  }
  std::uint64_t ns() const { return ns_; }

 private:
  jpeg::BlockSource& blocks_;
  std::uint64_t ns_ = 0;
};

class Stages {
 public:
  explicit Stages(const PhotoSet& photos) : photos_(photos) {}

  void turbo(const Picture& picture) {
    const auto file = photos_.file(picture.record);
    Laps laps;
    const ImageInfo info = must(jpeg::inspect(file, {}));
    turbo_.inspect += laps.next();
    const Rect region = photos_.region(picture, info.extent);
    const ImageView out = must(decoded_.reshape(3, region.height, region.width));
    must(turbo_reader_.read(file, info, region, out));
    turbo_.decode += laps.next();
    resize(out);
    turbo_.resize += laps.next();
  }

  void own(const Picture& picture, jpeg::IndexStore& store, bool indexed) {
    Own& sum = own_[indexed ? 1 : 0];
    const auto file = photos_.file(picture.record);
    const jpeg::IndexKey key{.record = picture.record, .identity = {.size = file.size()}};
    Laps laps;
    const ImageInfo info = must(jpeg::inspect(file, {}));
    sum.inspect += laps.next();
    const Rect region = photos_.region(picture, info.extent);
    const ImageView out = must(decoded_.reshape(3, region.height, region.width));
    const auto frame = jpeg::read_frame(file);
    if (!frame) fail("a file is left to libjpeg");
    const auto across = static_cast<std::uint32_t>(frame->mcus_across());
    const auto down = static_cast<std::uint32_t>(frame->mcus_down());
    if (!indexed || !store.get(key, index_)) index_.entries.clear();
    index_.shape = {across, down, store.group(across, down), crc32(file.first(frame->scan_begin)), file.size()};
    if (!must(scan_.begin(file, *frame, &index_))) fail("a scan is left to libjpeg");
    sum.begin += laps.next();
    TimedBlocks blocks(scan_);
    if (must(renderer_.render(*frame, region, blocks, out)) != jpeg::Renderer::Outcome::kDone) fail("a file is bad");
    sum.huffman += blocks.ns();
    sum.pixels += laps.next() - blocks.ns();
    store.offer(key, index_.shape, index_.entries);
    sum.offer += laps.next();
    resize(out);
    sum.resize += laps.next();
  }

  json result(std::size_t pictures) const {
    const auto us = [&](std::uint64_t ns) { return 1e-3 * static_cast<double>(ns) / static_cast<double>(pictures); };
    json result{
        {"yardstick", {{"inspect", us(turbo_.inspect)}, {"decode", us(turbo_.decode)}, {"resize", us(turbo_.resize)}}}};
    for (const bool indexed : {false, true}) {
      const Own& sum = own_[indexed ? 1 : 0];
      result[indexed ? "index" : "sequential"] = {{"inspect", us(sum.inspect)}, {"begin", us(sum.begin)},
                                                  {"huffman", us(sum.huffman)}, {"pixels", us(sum.pixels)},
                                                  {"offer", us(sum.offer)},     {"resize", us(sum.resize)}};
    }
    return result;
  }

 private:
  struct Turbo {
    std::uint64_t inspect = 0, decode = 0, resize = 0;
  };
  struct Own {
    std::uint64_t inspect = 0, begin = 0, huffman = 0, pixels = 0, offer = 0, resize = 0;
  };

  void resize(ConstImageView pixels) {
    const RandomResizedCrop& crop = photos_.crop();
    const ImageView out = must(resized_.reshape(3, crop.height, crop.width));
    must(resizer_.resize(out, pixels, kernel::Filter::kBilinear, crop.pass_order));
  }

  const PhotoSet& photos_;
  jpeg::TurboReader turbo_reader_{MemoryLedger::unlimited()};
  jpeg::ScanReader scan_{MemoryLedger::unlimited()};
  jpeg::Renderer renderer_{MemoryLedger::unlimited()};
  kernel::Resizer resizer_{MemoryLedger::unlimited()};
  ImageBuffer decoded_{MemoryLedger::unlimited()};
  ImageBuffer resized_{MemoryLedger::unlimited()};
  jpeg::ScanIndex index_;
  Turbo turbo_;
  std::array<Own, 2> own_;
};

}  // namespace

json stages(const PhotoSet& photos, std::span<const Picture> pictures, Knowledge& index) {
  Stages stages(photos);
  Knowledge nothing(photos, Grain::kFine);
  index.restart();
  for (const Picture& picture : pictures) {
    stages.turbo(picture);
    stages.own(picture, nothing.store(), false);
    stages.own(picture, index.store(), true);
  }
  return stages.result(pictures.size());
}

}  // namespace drapps::bench
