// What the tests of this layer share: regions without an engine around them.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <utility>

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
  auto blocks = std::make_shared<BlockRegions>(*file.map(0, plan.data_offset), *SharedFile::attach(file.fd()), plan);
  blocks->clear();
  return blocks;
}

inline std::shared_ptr<BlockRegions> make_regions(std::uint32_t regions) {
  SharedFile file = *SharedFile::make("test");
  return make_regions(regions, file);
}

/// Bytes of this process's mappings of memfds with that name, and how many of them there are.
inline std::pair<std::uint64_t, int> mapped_of(const std::string& name) {
  std::ifstream maps("/proc/self/maps");
  std::pair<std::uint64_t, int> totals;
  for (std::string line; std::getline(maps, line);) {
    if (line.find("/memfd:" + name + " ") == std::string::npos) continue;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    EXPECT_EQ(std::sscanf(line.c_str(), "%lx-%lx", &begin, &end), 2);
    totals.first += end - begin;
    ++totals.second;
  }
  return totals;
}

/// So much address space is left to this process from now on.
inline bool leave_address_space(std::uint64_t bytes) {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t pages = 0;
  statm >> pages;
  const rlim_t most = pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) + bytes;
  const rlimit limit{.rlim_cur = most, .rlim_max = most};
  return pages > 0 && setrlimit(RLIMIT_AS, &limit) == 0;
}

/// What stands at a block's place, whether it is one or not.
inline BlockHeader& header_of(const BlockRegions& memory, std::uint64_t block) {
  const auto [begin, end] = memory.shared_range(block);
  return MappedBlock{*memory.map(begin, end), block}.header();
}

inline std::byte* data_of(const BlockRegions& memory, std::uint64_t block) {
  return reinterpret_cast<std::byte*>(&header_of(memory, block)) + sizeof(BlockHeader);
}

}  // namespace drapps::shm_testing
