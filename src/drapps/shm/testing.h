// What the tests of this layer share: regions without an engine around them.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>

#include "drapps/shm/blocks.h"

namespace drapps::shm_testing {

inline constexpr std::uint64_t kRegionBytes = std::uint64_t{64} << 20;

inline RegionPlan plan_of(std::uint32_t regions, std::uint64_t region_bytes = kRegionBytes) {
  return {.books_offset = 0,
          .data_offset = round_up(regions * sizeof(RegionEntry), kPageBytes),
          .region_bytes = region_bytes,
          .regions = regions};
}

/// Empty regions that fill a file.
inline std::shared_ptr<BlockRegions> make_regions(std::uint32_t regions, SharedFile& file,
                                                  std::uint64_t region_bytes = kRegionBytes) {
  const RegionPlan plan = plan_of(regions, region_bytes);
  EXPECT_TRUE(file.grow(plan.data_offset + regions * region_bytes).ok());
  auto made = std::make_shared<BlockRegions>(*file.map(0, file.bytes()), plan);
  made->clear();
  return made;
}

inline std::shared_ptr<BlockRegions> make_regions(std::uint32_t regions) {
  SharedFile file = *SharedFile::make("test");
  return make_regions(regions, file);
}

}  // namespace drapps::shm_testing
