// Ways from a file in memory to a crop of 224 x 224: the same bytes, different work.
#pragma once

#include <memory>

#include "benchmarks/image_kernels/knowledge.h"
#include "benchmarks/image_kernels/pictures.h"
#include "drapps/data/image.h"
#include "drapps/kernel/level.h"
#include "drapps/kernel/resize.h"

namespace drapps::bench {

/// For one thread; memory is kept from picture to picture.
class Contestant {
 public:
  virtual ~Contestant() = default;

  /// The structural check, and the pixels of the picture's region, not resized. Holds until the next call.
  virtual ConstImageView decode(const Picture& picture) = 0;

  /// The same, resized: planar RGB. Holds until the next call.
  ConstImageView make(const Picture& picture);

 protected:
  Contestant(const PhotoSet& photos, kernel::Level level);
  const PhotoSet& photos_;
  ImageBuffer decoded_;

 private:
  kernel::Resizer resizer_;
  ImageBuffer resized_;
};

/// libjpeg-turbo: the region alone (crop and skip with the row of context), or every row of the whole picture.
std::unique_ptr<Contestant> turbo_part(const PhotoSet& photos, kernel::Level level);
std::unique_ptr<Contestant> turbo_whole(const PhotoSet& photos, kernel::Level level);

/// Our decoder, which asks what is known of a file and offers what it learns.
std::unique_ptr<Contestant> indexed(const PhotoSet& photos, kernel::Level level, Knowledge& knowledge);

/// The coefficient form of the file.
std::unique_ptr<Contestant> expanded(const PhotoSet& photos, kernel::Level level);

}  // namespace drapps::bench
