// Where the time goes inside a contestant: information, not a comparison.
#pragma once

#include <span>

#include "benchmarks/image_kernels/knowledge.h"
#include "benchmarks/image_kernels/pictures.h"

namespace drapps::bench {

/// Microseconds per picture by contestant and stage, over `pictures`. Epochs begin for it, with nothing known and with
/// what `index` has learnt.
json stages(const PhotoSet& photos, std::span<const Picture> pictures, Knowledge& nothing, Knowledge& index);

}  // namespace drapps::bench
