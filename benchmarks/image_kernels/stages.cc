// Our decoders are taken apart here as jpeg::Reader and jpeg::CoefficientDecoder put them together: getting at the
// coefficients is what the renderer waits for. Clocks are read between two stages, and twice for each row of MCUs.
#include "benchmarks/image_kernels/stages.h"

#include <string_view>
#include <utility>
#include <vector>

#include "drapps/base/clock.h"
#include "drapps/data/image.h"
#include "drapps/decode/crc32.h"
#include "drapps/decode/jpeg/coefficients.h"
#include "drapps/decode/jpeg/frame.h"
#include "drapps/decode/jpeg/render.h"
#include "drapps/decode/jpeg/scan_reader.h"
#include "drapps/decode/jpeg/structure.h"
#include "drapps/decode/jpeg/turbo_reader.h"
#include "drapps/kernel/resize.h"

namespace drapps::bench {
namespace {

/// Nanoseconds by stage.
class Sums {
 public:
  void add(std::string_view stage, std::uint64_t ns) {
    for (auto& [name, sum] : sums_) {
      if (name == stage) {
        sum += ns;
        return;
      }
    }
    sums_.emplace_back(stage, ns);
  }

  /// Microseconds for each of so many pictures.
  json mean(std::size_t pictures) const {
    json result;
    for (const auto& [name, sum] : sums_) {
      result[std::string(name)] = 1e-3 * static_cast<double>(sum) / static_cast<double>(pictures);
    }
    return result;
  }

 private:
  std::vector<std::pair<std::string_view, std::uint64_t>> sums_;
};

/// The stages of one picture, one after the other.
class Laps {
 public:
  explicit Laps(Sums& sums) : sums_(sums) {}

  /// What has passed since the last stage ended belongs to `stage`, but for `inner_ns` of it.
  void end(std::string_view stage, std::uint64_t inner_ns = 0) {
    const std::uint64_t now = monotonic_ns();
    sums_.add(stage, now - last_ - inner_ns);
    last_ = now;
  }

 private:
  Sums& sums_;
  std::uint64_t last_ = monotonic_ns();
};

class TimedBlocks final : public jpeg::BlockSource {
 public:
  explicit TimedBlocks(jpeg::BlockSource& blocks) : blocks_(blocks) {}

  bool read(std::int32_t row, std::int32_t first, std::int32_t count,
            const kernel::jpeg::BlockTargets& targets) override {
    const std::uint64_t before = monotonic_ns();
    const bool good = blocks_.read(row, first, count, targets);
    ns_ += monotonic_ns() - before;
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

  void turbo(const Picture& picture, Sums& sums) {
    const auto file = photos_.file(picture.record);
    Laps laps(sums);
    const ImageInfo info = must(jpeg::inspect(file, {}));
    laps.end("inspect");
    const Rect region = photos_.region(picture, info.extent);
    const ImageView out = must(decoded_.reshape(3, region.height, region.width));
    must(turbo_.read(file, info, region, out));
    laps.end("decode");
    resize(out, laps);
  }

  void scan(const Picture& picture, jpeg::IndexStore& store, Sums& sums) {
    const auto file = photos_.file(picture.record);
    const jpeg::IndexKey key{.record = picture.record, .identity = {.size = file.size()}};
    Laps laps(sums);
    const ImageInfo info = must(jpeg::inspect(file, {}));
    laps.end("inspect");
    const auto frame = jpeg::read_frame(file);
    if (!frame) fail("a file is left to libjpeg");
    const auto across = static_cast<std::uint32_t>(frame->mcus_across());
    const auto down = static_cast<std::uint32_t>(frame->mcus_down());
    if (!store.get(key, index_)) index_.entries.clear();
    index_.shape = {across, down, store.group(across, down), crc32(file.first(frame->scan_begin)), file.size()};
    if (!must(scan_.begin(file, *frame, &index_))) fail("a scan is left to libjpeg");
    laps.end("begin");
    const ImageView out = render(picture, info, *frame, scan_, "huffman", laps, sums);
    store.offer(key, index_.shape, index_.entries);
    laps.end("offer");
    resize(out, laps);
  }

  void coefficients(const Picture& picture, Sums& sums) {
    const auto file = photos_.coefficients(picture.record);
    Laps laps(sums);
    const ImageInfo info = must(jpeg::inspect_coefficients(file, {}));
    laps.end("inspect");
    const auto head = must(jpeg::read_coefficient_head(file));
    must(coefficients_.begin(file, head));
    laps.end("begin");
    resize(render(picture, info, head.frame, coefficients_, "expand", laps, sums), laps);
  }

 private:
  ImageView render(const Picture& picture, const ImageInfo& info, const jpeg::Frame& frame, jpeg::BlockSource& source,
                   std::string_view name, Laps& laps, Sums& sums) {
    const Rect region = photos_.region(picture, info.extent);
    const ImageView out = must(decoded_.reshape(3, region.height, region.width));
    TimedBlocks blocks(source);
    if (must(renderer_.render(frame, region, blocks, out)) != jpeg::Renderer::RenderOutcome::kDone)
      fail("a file is bad");
    sums.add(name, blocks.ns());
    laps.end("pixels", blocks.ns());
    return out;
  }

  void resize(ConstImageView pixels, Laps& laps) {
    const RandomResizedCrop& crop = photos_.crop();
    const ImageView out = must(resized_.reshape(3, crop.height, crop.width));
    must(resizer_.resize(out, pixels, kernel::Filter::kBilinear, crop.pass_order));
    laps.end("resize");
  }

  const PhotoSet& photos_;
  jpeg::TurboReader turbo_{MemoryLedger::unlimited()};
  jpeg::ScanReader scan_{MemoryLedger::unlimited()};
  jpeg::CoefficientReader coefficients_{MemoryLedger::unlimited()};
  jpeg::Renderer renderer_{MemoryLedger::unlimited()};
  kernel::Resizer resizer_{MemoryLedger::unlimited()};
  ImageBuffer decoded_{MemoryLedger::unlimited()};
  ImageBuffer resized_{MemoryLedger::unlimited()};
  jpeg::ScanIndex index_;
};

}  // namespace

json stages(const PhotoSet& photos, std::span<const Picture> pictures, Knowledge& nothing, Knowledge& index) {
  Stages stages(photos);
  nothing.restart();
  index.restart();
  Sums yardstick, sequential, indexed, coefficients;
  for (const Picture& picture : pictures) {
    stages.turbo(picture, yardstick);
    stages.scan(picture, nothing.store(), sequential);
    stages.scan(picture, index.store(), indexed);
    stages.coefficients(picture, coefficients);
  }
  return {{"yardstick", yardstick.mean(pictures.size())},
          {"sequential", sequential.mean(pictures.size())},
          {"index", indexed.mean(pictures.size())},
          {"coefficients", coefficients.mean(pictures.size())}};
}

}  // namespace drapps::bench
