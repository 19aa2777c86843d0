#include "drapps/worker/board_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

namespace drapps {
namespace {

constexpr std::uint32_t kMaxTasks = 1u << 20;
constexpr std::uint64_t kMagic = 0x3230'6272'7061'7264;  // "draprb02"
constexpr std::uint64_t kLeastRegion = std::uint64_t{256} << 20;
// Half of what x86-64 and most arm64 kernels give a process.
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 46;
// What memory takes whose regions nobody gave a size: of 14 loaders and a worker's own mapping there is room for.
constexpr std::uint64_t kUsualBytes = std::uint64_t{1} << 43;

Result<Mapping> map(const SharedFile& file, std::uint64_t bytes) {
  auto mapping = file.map(0, bytes);
  // Writing the core file of a crashed process would walk through terabytes of nothing.
  if (mapping.ok()) madvise(mapping->data(), bytes, MADV_DONTDUMP);
  return mapping;
}

Geometry plan(std::uint32_t max_processes, std::uint32_t max_tasks, std::uint64_t region_bytes) {
  Geometry plan{.magic = kMagic, .region_bytes = region_bytes};
  plan.max_processes = max_processes;
  plan.max_tasks = max_tasks;
  plan.processes_offset = sizeof(Header);
  plan.regions_offset = plan.processes_offset + sizeof(ProcessEntry) * max_processes;
  plan.tasks_offset = plan.regions_offset + sizeof(RegionEntry) * (max_processes + 1);
  plan.data_offset = round_up(plan.tasks_offset + sizeof(TaskEntry) * max_tasks, kPageBytes);
  plan.file_bytes = plan.data_offset + region_bytes * (max_processes + 1);
  return plan;
}

bool possible(const Geometry& geometry) {
  return geometry.max_processes >= 1 && geometry.max_processes <= kMaxProcesses && geometry.max_tasks >= 1 &&
         geometry.max_tasks <= kMaxTasks && geometry.region_bytes <= kMostBytes &&
         geometry.region_bytes % kPageBytes == 0;
}

}  // namespace

BoardMemory::BoardMemory(Mapping mapping, const Geometry& geometry, std::optional<SharedFile> file)
    : BlockRegions(std::move(mapping), {.books_offset = geometry.regions_offset,
                                        .data_offset = geometry.data_offset,
                                        .region_bytes = geometry.region_bytes,
                                        .regions = geometry.max_processes + 1}),
      file_(std::move(file)),
      max_processes_(geometry.max_processes),
      max_tasks_(geometry.max_tasks),
      processes_(reinterpret_cast<ProcessEntry*>(at(geometry.processes_offset))),
      tasks_(reinterpret_cast<TaskEntry*>(at(geometry.tasks_offset))) {}

Result<std::shared_ptr<BoardMemory>> BoardMemory::make(std::uint32_t max_processes, std::uint32_t max_tasks,
                                                       std::uint64_t region_bytes) {
  if (!possible({.max_processes = max_processes, .max_tasks = max_tasks})) {
    return Error{.message = "a board has 1 to " + std::to_string(kMaxProcesses) + " processes and 1 to " +
                            std::to_string(kMaxTasks) + " tasks"};
  }
  if (region_bytes > kMostBytes) {
    return Error{.message = "regions of " + std::to_string(region_bytes) + " bytes exceed any address space"};
  }
  if (region_bytes == 0) {
    region_bytes = std::bit_ceil(static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                                 static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)));
    region_bytes = std::min(region_bytes, std::bit_floor(kUsualBytes / (max_processes + 1)));
  }
  region_bytes = round_up(region_bytes, kPageBytes);
  for (;; region_bytes /= 2) {
    auto file = SharedFile::make("drapps-workers");
    if (!file.ok()) return std::move(file).error();
    const Geometry planned = plan(max_processes, max_tasks, region_bytes);
    Status grown = planned.file_bytes <= kMostBytes ? file->grow(planned.file_bytes) : ok_status();
    auto mapping = grown.ok() ? map(*file, planned.file_bytes) : Result<Mapping>(std::move(grown).error());
    if (mapping.ok()) {
      // Everything else is zeros, as it must be at the beginning.
      reinterpret_cast<Header*>(mapping->data())->geometry = planned;
      auto memory = std::shared_ptr<BoardMemory>(new BoardMemory(*std::move(mapping), planned, *std::move(file)));
      memory->clear();
      return memory;
    }
    if (region_bytes / 2 < kLeastRegion) return std::move(mapping).error();
  }
}

Result<std::shared_ptr<BoardMemory>> BoardMemory::attach(int fd) {
  auto file = SharedFile::attach(fd);
  if (!file.ok()) return std::move(file).error();
  Geometry geometry{};
  const auto bytes = static_cast<ssize_t>(sizeof(geometry));
  if (pread(file->fd(), &geometry, sizeof(geometry), 0) != bytes || !possible(geometry) ||
      geometry != plan(geometry.max_processes, geometry.max_tasks, geometry.region_bytes) ||
      geometry.file_bytes != file->bytes()) {
    return Error{.message = "file descriptor " + std::to_string(fd) +
                            " is not the memory of a board; hand the one that the parent names to the worker"};
  }
  auto mapping = map(*file, geometry.file_bytes);
  if (!mapping.ok()) return std::move(mapping).error();
  return std::shared_ptr<BoardMemory>(new BoardMemory(*std::move(mapping), geometry, std::nullopt));
}

}  // namespace drapps
