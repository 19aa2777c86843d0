// What all contestants of scenario image-kernels make: the crops that a loader would draw, of files in memory, which
// are there in the coefficient form too.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "benchmarks/program.h"
#include "drapps/augment/picture/random_resized_crop.h"
#include "drapps/base/philox.h"

namespace drapps::bench {

/// One crop of one epoch.
struct Picture {
  std::uint64_t record = 0;  // the file's number
  Coordinate at;             // of the crop's draws
};

/// The files and the epochs over them. Immutable.
class PhotoSet {
 public:
  /// Reads the files, and makes the coefficient form of each.
  /// @param spec  "files": a list to read them from; "seed", "crop", "pass_order": of the loader.
  explicit PhotoSet(const json& spec);

  std::uint64_t size() const { return files_.size(); }
  std::span<const std::uint8_t> file(std::uint64_t record) const { return files_[record]; }
  std::span<const std::uint8_t> coefficients(std::uint64_t record) const { return coefficients_[record]; }

  /// The first `count` crops of an epoch in its shuffled order; no more than size().
  std::vector<Picture> epoch(std::uint32_t number, std::uint64_t count) const;

  const RandomResizedCrop& crop() const { return crop_; }
  /// The part that a picture is cut to, from a file of that extent.
  Rect region(const Picture& picture, Extent whole) const { return crop_.region(whole, Draws(picture.at, 1)); }

 private:
  std::vector<File> files_;
  std::vector<File> coefficients_;  // of each file
  std::uint64_t seed_;
  RandomResizedCrop crop_;
};

}  // namespace drapps::bench
