// Reader and TurboReader side by side, for tests and fuzzing: whatever a file is, both must say the same of it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "drapps/decode/jpeg/reader.h"
#include "drapps/decode/jpeg/structure.h"
#include "drapps/decode/jpeg/turbo_reader.h"

namespace drapps::jpeg::testing {

/// How a file's components are sampled; the factors are those of luma.
struct Sampling {
  const char* name;
  int channels, horizontal, vertical;
};
inline constexpr Sampling kSamplings[] = {{"444", 3, 1, 1}, {"422", 3, 2, 1}, {"420", 3, 2, 2},
                                          {"440", 3, 1, 2}, {"411", 3, 4, 1}, {"gray", 1, 1, 1}};

/// Keeps the index of one picture, open to the test.
class OneIndex final : public IndexStore {
 public:
  /// @param fine  entries every 8 MCUs, else every row.
  explicit OneIndex(bool fine) : fine_(fine) {}

  std::uint32_t group(std::uint32_t mcus_across, std::uint32_t) const noexcept override {
    return fine_ ? 8 : mcus_across;
  }
  bool get(const IndexKey&, ScanIndex& index) override {
    index = known;
    return !known.entries.empty();
  }
  void offer(const IndexKey&, const IndexShape& shape, std::span<const IndexEntry> entries) override {
    ++offers;
    known = {shape, {entries.begin(), entries.end()}};
  }
  std::size_t bytes() const noexcept override { return 0; }

  bool complete() const { return !known.entries.empty() && known.entries.size() == known.shape.entries(); }

  ScanIndex known;
  int offers = 0;

 private:
  bool fine_;
};

/// Both readers with their memory, kept from file to file as a worker keeps them.
class Twins {
 public:
  Twins() : turbo_(MemoryLedger::unlimited()), whole_(MemoryLedger::unlimited()), part_(MemoryLedger::unlimited()) {
    for (const kernel::Level level : kernel::supported_levels()) {
      own_.push_back(std::make_unique<JpegReader>(MemoryLedger::unlimited(), level));
    }
  }

  std::size_t levels() const { return own_.size(); }
  static kernel::Level level(std::size_t i) { return kernel::supported_levels()[i]; }

  /// Takes a file and decodes all of it with libjpeg. False for one that the structural check refuses.
  bool open(std::span<const std::uint8_t> file, std::int32_t channels = 3,
            std::int64_t max_pixels = DecodeOptions{}.max_pixels, bool luma = false) {
    file_ = file;
    const Result<ImageInfo> info = inspect(file, {.max_pixels = max_pixels});
    if (!info.ok()) return false;
    info_ = *info;
    info_.luma = luma;
    const Result<ImageView> view = whole_.reshape(channels, info_.stored.height, info_.stored.width);
    if (!view.ok()) return false;
    picture_ = *view;
    verdict_ = turbo_.read(file_, info_, all(), picture_);
    return true;
  }

  const ImageInfo& info() const { return info_; }
  Rect all() const { return {0, 0, info_.stored.height, info_.stored.width}; }
  bool good() const { return verdict_.ok(); }

  /// What is wrong with a region of the file, decoded by Reader at a level; empty where it is as libjpeg's whole
  /// picture.
  std::string compare(std::size_t level, const Rect& region, IndexStore* store = nullptr, const IndexKey& key = {}) {
    const IndexUse use{store, key, &had};
    const Result<ImageView> out = part_.reshape(picture_.channels, region.height, region.width);
    if (!out.ok()) return "no memory";
    const Status status = own_[level]->read(file_, info_, region, *out, store == nullptr ? nullptr : &use);
    return difference(status, *out, region);
  }
  /// What is wrong with a region of the file, decoded in part by libjpeg; empty where it is as libjpeg's whole picture.
  std::string compare_turbo(const Rect& region) {
    const Result<ImageView> out = part_.reshape(picture_.channels, region.height, region.width);
    if (!out.ok()) return "no memory";
    return difference(turbo_.read(file_, info_, region, *out), *out, region);
  }

  Learned had = Learned::kNothing;  // of the index, when Reader last began with one

 private:
  std::string difference(const Status& status, const ImageView& out, const Rect& region) const {
    const std::string where = " in " + std::to_string(region.height) + " x " + std::to_string(region.width) + " at " +
                              std::to_string(region.top) + ", " + std::to_string(region.left);
    if (status.ok() != verdict_.ok()) return (status.ok() ? "passes" : status.error().message) + where;
    if (!status.ok()) return status.error().code == verdict_.error().code ? "" : status.error().message + where;
    const ImageView expected = picture_.crop(region);
    std::size_t different = 0;
    for (std::int32_t c = 0; c < out.channels; ++c) {
      for (std::int32_t y = 0; y < out.height; ++y) {
        const std::uint8_t *a = out.row(c, y), *b = expected.row(c, y);
        for (std::int32_t x = 0; x < out.width; ++x) different += a[x] != b[x];
      }
    }
    return different == 0 ? "" : std::to_string(different) + " pixels differ" + where;
  }

  std::vector<std::unique_ptr<JpegReader>> own_;
  TurboReader turbo_;
  ImageBuffer whole_, part_;
  std::span<const std::uint8_t> file_;
  ImageInfo info_;
  ImageView picture_;
  Status verdict_ = ok_status();
};

/// Corners, single pixels and anything else.
template <class Chooser>
Rect any_region(Extent extent, const Chooser& pick) {
  Rect rect{pick(0, extent.height - 1), pick(0, extent.width - 1), 1, 1};
  const int kind = pick(0, 7);
  if (kind == 0) return rect;
  if (kind <= 2) rect.top = 0;
  if (kind == 1 || kind == 3) rect.left = 0;
  rect.height = pick(1, extent.height - rect.top);
  rect.width = pick(1, extent.width - rect.left);
  if (kind == 4 || kind == 5) rect.top = extent.height - rect.height;
  if (kind == 4 || kind == 6) rect.left = extent.width - rect.width;
  return rect;
}

}  // namespace drapps::jpeg::testing
