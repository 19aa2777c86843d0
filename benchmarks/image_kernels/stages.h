// Where the time goes inside a contestant: information, not a comparison.
#pragma once

#include <span>

#include "benchmarks/image_kernels/knowledge.h"
#include "benchmarks/image_kernels/pictures.h"

namespace drapps::bench {

/// Microseconds per picture by contestant and stage, over `pictures`; `index` begins an epoch for it.
json stages(const PhotoSet& photos, std::span<const Picture> pictures, Knowledge& index);

}  // namespace drapps::bench
