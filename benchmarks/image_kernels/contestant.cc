#include "benchmarks/image_kernels/contestant.h"

#include "drapps/augment/picture/geometry.h"
#include "drapps/decode/jpeg/coefficients.h"
#include "drapps/decode/jpeg/reader.h"
#include "drapps/decode/jpeg/structure.h"
#include "drapps/decode/jpeg/turbo_reader.h"

namespace drapps::bench {

Contestant::Contestant(const PhotoSet& photos, kernel::Level level)
    : photos_(photos),
      decoded_(MemoryLedger::unlimited()),
      resizer_(MemoryLedger::unlimited(), level),
      resized_(MemoryLedger::unlimited()) {}

ConstImageView Contestant::make(const Picture& picture) {
  const ConstImageView pixels = decode(picture);
  const RandomResizedCrop& crop = photos_.crop();
  const ImageView out = must(resized_.reshape(3, crop.height, crop.width));
  must(resizer_.resize(out, pixels, kernel::Filter::kBilinear, crop.pass_order));
  return out;
}

namespace {

class Turbo final : public Contestant {
 public:
  Turbo(const PhotoSet& photos, kernel::Level level, bool whole) : Contestant(photos, level), whole_(whole) {}

  ConstImageView decode(const Picture& picture) override {
    const auto file = photos_.file(picture.record);
    const ImageInfo info = must(jpeg::inspect(file, {}));
    const Rect region = photos_.region(picture, info.extent);
    const Rect read = whole_ ? geometry::whole_rect(info.extent) : region;
    const ImageView out = must(decoded_.reshape(3, read.height, read.width));
    must(reader_.read(file, info, read, out));
    return whole_ ? out.crop(region) : out;
  }

 private:
  const bool whole_;
  jpeg::TurboReader reader_{MemoryLedger::unlimited()};
};

class Indexed final : public Contestant {
 public:
  Indexed(const PhotoSet& photos, kernel::Level level, Knowledge& knowledge)
      : Contestant(photos, level), knowledge_(knowledge), reader_(MemoryLedger::unlimited(), level) {}

  ConstImageView decode(const Picture& picture) override {
    const auto file = photos_.file(picture.record);
    const ImageInfo info = must(jpeg::inspect(file, {}));
    const Rect region = photos_.region(picture, info.extent);
    const ImageView out = must(decoded_.reshape(3, region.height, region.width));
    const jpeg::IndexUse use{&knowledge_.store(), {.record = picture.record, .identity = {.size = file.size()}}};
    must(reader_.read(file, info, region, out, &use));
    return out;
  }

 private:
  Knowledge& knowledge_;
  jpeg::JpegReader reader_;
};

class Expanded final : public Contestant {
 public:
  Expanded(const PhotoSet& photos, kernel::Level level)
      : Contestant(photos, level), decoder_(MemoryLedger::unlimited(), level) {}

  ConstImageView decode(const Picture& picture) override {
    const auto file = photos_.coefficients(picture.record);
    const ImageInfo info = must(jpeg::inspect_coefficients(file, {}));
    const Rect region = photos_.region(picture, info.extent);
    const ImageView out = must(decoded_.reshape(3, region.height, region.width));
    must(decoder_.read(file, info, region, out));
    return out;
  }

 private:
  jpeg::CoefficientDecoder decoder_;
};

}  // namespace

std::unique_ptr<Contestant> turbo_part(const PhotoSet& photos, kernel::Level level) {
  return std::make_unique<Turbo>(photos, level, false);
}

std::unique_ptr<Contestant> turbo_whole(const PhotoSet& photos, kernel::Level level) {
  return std::make_unique<Turbo>(photos, level, true);
}

std::unique_ptr<Contestant> indexed(const PhotoSet& photos, kernel::Level level, Knowledge& knowledge) {
  return std::make_unique<Indexed>(photos, level, knowledge);
}

std::unique_ptr<Contestant> expanded(const PhotoSet& photos, kernel::Level level) {
  return std::make_unique<Expanded>(photos, level);
}

}  // namespace drapps::bench
