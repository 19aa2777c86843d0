#include "drapps/worker/board_memory.h"

#include <unistd.h>

#include <string>
#include <utility>

#include "drapps/base/caught.h"

namespace drapps {
namespace {

constexpr std::uint32_t kMaxTasks = 1u << 20;
constexpr std::uint64_t kMagic = 0x3330'6272'7061'7264;  // "draprb03"
constexpr std::uint64_t kLeastRegion = std::uint64_t{256} << 20;
constexpr std::uint64_t kUsualRegion = std::uint64_t{1} << 44;
constexpr std::uint64_t kLargestRegion = std::uint64_t{1} << 46;  // a file has room for the most regions of this size

BoardGeometry plan(std::uint32_t max_processes, std::uint32_t max_tasks, std::uint64_t region_bytes) {
  BoardGeometry plan{.magic = kMagic, .region_bytes = region_bytes};
  plan.max_processes = max_processes;
  plan.max_tasks = max_tasks;
  plan.processes_offset = sizeof(BoardHeader);
  plan.regions_offset = plan.processes_offset + sizeof(ProcessEntry) * max_processes;
  plan.tasks_offset = plan.regions_offset + sizeof(RegionEntry) * (max_processes + 1);
  plan.data_offset = round_up(plan.tasks_offset + sizeof(TaskEntry) * max_tasks, kPageBytes);
  plan.file_bytes = plan.data_offset + region_bytes * (max_processes + 1);
  return plan;
}

bool possible(const BoardGeometry& geometry) {
  return geometry.max_processes >= 1 && geometry.max_processes <= kMaxProcesses && geometry.max_tasks >= 1 &&
         geometry.max_tasks <= kMaxTasks && geometry.region_bytes <= kLargestRegion &&
         geometry.region_bytes % kPageBytes == 0;
}

}  // namespace

BoardMemory::BoardMemory(Mapping books, SharedFile file, const BoardGeometry& geometry, bool creator)
    : BlockRegions(std::move(books), std::move(file),
                   {.books_offset = geometry.regions_offset,
                    .data_offset = geometry.data_offset,
                    .region_bytes = geometry.region_bytes,
                    .regions = geometry.max_processes + 1}),
      creator_(creator),
      max_processes_(geometry.max_processes),
      max_tasks_(geometry.max_tasks),
      processes_(reinterpret_cast<ProcessEntry*>(this->books().data() + geometry.processes_offset)),
      tasks_(reinterpret_cast<TaskEntry*>(this->books().data() + geometry.tasks_offset)) {}

BoardMemory::~BoardMemory() {
  if (!creator_ || !mine()) return;
  for (std::uint32_t number = 0; number < max_processes_; ++number) {
    const std::uint32_t life = process(number).life.load();
    if (life != kProcessFree && life != kProcessReaped) return;
  }
  for (std::uint32_t region = 1; region < regions(); ++region) {
    static_cast<void>(catching([&] { punch_all_but_results(region); }));
  }
  punch(0, region_end(0));
}

void BoardMemory::punch_all_but_results(std::uint32_t region) const {
  if (blocks_end(region) == region_begin(region)) return;
  std::uint64_t begin = region_begin(region);
  const bool seen = for_each_block(region, [&](const MappedBlock& block) {
    if ((block.header().holds.load() & ~(kMakerHold | kSentHold)) == 0) return;
    punch(begin, block.offset);
    begin = block.offset + sizeof(BlockHeader) + block.room();
  });
  if (seen) punch(begin, region_end(region));
}

Result<std::shared_ptr<BoardMemory>> BoardMemory::make(std::uint32_t max_processes, std::uint32_t max_tasks,
                                                       std::uint64_t region_bytes) {
  if (!possible({.max_processes = max_processes, .max_tasks = max_tasks})) {
    return Error{.message = "a board has 1 to " + std::to_string(kMaxProcesses) + " processes and 1 to " +
                            std::to_string(kMaxTasks) + " tasks"};
  }
  if (region_bytes > kLargestRegion) {
    return Error{.message = "regions of " + std::to_string(region_bytes) + " bytes exceed any address space"};
  }
  region_bytes = region_bytes == 0 ? kUsualRegion : round_up(region_bytes, kPageBytes);
  auto file = SharedFile::make("drapps-workers");
  if (!file.ok()) return std::move(file).error();
  BoardGeometry planned = plan(max_processes, max_tasks, region_bytes);
  for (Status grown = file->grow(planned.file_bytes); !grown.ok(); grown = file->grow(planned.file_bytes)) {
    if (planned.region_bytes / 2 < kLeastRegion) return std::move(grown).error();
    planned = plan(max_processes, max_tasks, planned.region_bytes / 2);
  }
  auto books = file->map(0, planned.data_offset);
  if (!books.ok()) return std::move(books).error();
  // Everything else is zeros, as it must be at the beginning.
  reinterpret_cast<BoardHeader*>(books->data())->geometry = planned;
  auto memory = std::shared_ptr<BoardMemory>(new BoardMemory(*std::move(books), *std::move(file), planned, true));
  memory->clear();
  return memory;
}

Result<std::shared_ptr<BoardMemory>> BoardMemory::attach(int fd) {
  auto file = SharedFile::attach(fd);
  if (!file.ok()) return std::move(file).error();
  BoardGeometry geometry{};
  const auto bytes = static_cast<ssize_t>(sizeof(geometry));
  if (pread(file->fd(), &geometry, sizeof(geometry), 0) != bytes || !possible(geometry) ||
      geometry != plan(geometry.max_processes, geometry.max_tasks, geometry.region_bytes) ||
      geometry.file_bytes != file->bytes()) {
    return Error{.message = "file descriptor " + std::to_string(fd) +
                            " is not the memory of a board; hand the one that the parent names to the worker"};
  }
  auto books = file->map(0, geometry.data_offset);
  if (!books.ok()) return std::move(books).error();
  return std::shared_ptr<BoardMemory>(new BoardMemory(*std::move(books), *std::move(file), geometry, false));
}

}  // namespace drapps
