#include "drapps/worker/memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

namespace drapps {
namespace {

constexpr std::uint64_t kMagic = 0x3130'6272'7061'7264;  // "draprb01"
constexpr std::uint64_t kLeastRegion = std::uint64_t{256} << 20;
// Half of what x86-64 and most arm64 kernels give a process.
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 46;
// What memory takes whose regions nobody gave a size: of 14 loaders and a worker's own mapping there is room for.
constexpr std::uint64_t kUsualBytes = std::uint64_t{1} << 43;

std::uint64_t round_up(std::uint64_t bytes, std::uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

std::byte* map(int fd, std::uint64_t bytes) noexcept {
  void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (base == MAP_FAILED) return nullptr;
  // Writing the core file of a crashed process would walk through terabytes of nothing.
  madvise(base, bytes, MADV_DONTDUMP);
  return static_cast<std::byte*>(base);
}

Error refused(const std::string& what, std::uint64_t bytes) {
  const std::string why = std::generic_category().message(errno);
  return Error{.code = ErrorCode::kResourceExhausted,
               .message = what + " of " + std::to_string(bytes) + " bytes of address space failed (" + why +
                          "); raise the limit on address space (ulimit -v) or use fewer worker processes"};
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

}  // namespace

Memory::Memory(std::byte* base, const Geometry& geometry, UniqueHandle fd)
    : base_(base),
      fd_(std::move(fd)),
      mapper_(getpid()),
      bytes_(geometry.file_bytes),
      max_processes_(geometry.max_processes),
      max_tasks_(geometry.max_tasks),
      region_bytes_(geometry.region_bytes),
      data_offset_(geometry.data_offset),
      processes_(reinterpret_cast<ProcessEntry*>(base + geometry.processes_offset)),
      regions_(reinterpret_cast<RegionEntry*>(base + geometry.regions_offset)),
      tasks_(reinterpret_cast<TaskEntry*>(base + geometry.tasks_offset)),
      releasing_(std::make_unique<std::atomic<std::uint32_t>[]>(max_processes_ + 1)) {}

Memory::~Memory() { munmap(base_, bytes_); }

Result<std::shared_ptr<Memory>> Memory::make(std::uint32_t max_processes, std::uint32_t max_tasks,
                                             std::uint64_t region_bytes) {
  if (max_processes < 1 || max_processes > kMaxProcesses || max_tasks < 1 || max_tasks > 1u << 20) {
    return Error{.message = "an engine has 1 to " + std::to_string(kMaxProcesses) + " processes and 1 to " +
                            std::to_string(1u << 20) + " tasks"};
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
  UniqueHandle fd(memfd_create("drapps-workers", MFD_CLOEXEC));
  if (!fd) {
    return Error{.code = ErrorCode::kResourceExhausted,
                 .message = "making a memfd failed: " + std::generic_category().message(errno) +
                            "; raise the limit on open files (ulimit -n)"};
  }
  for (;; region_bytes /= 2) {
    const Geometry planned = plan(max_processes, max_tasks, region_bytes);
    errno = ENOMEM;
    if (planned.file_bytes <= kMostBytes && ftruncate(fd.get(), static_cast<off_t>(planned.file_bytes)) == 0) {
      if (std::byte* base = map(fd.get(), planned.file_bytes); base != nullptr) {
        // Everything else is zeros, as it must be at the beginning.
        reinterpret_cast<Header*>(base)->geometry = planned;
        auto memory = std::shared_ptr<Memory>(new Memory(base, planned, std::move(fd)));
        for (std::uint32_t i = 0; i <= max_processes; ++i) memory->region(i).end = memory->region_begin(i);
        return memory;
      }
    }
    if (region_bytes / 2 < kLeastRegion) return refused("sharing memory among processes", planned.file_bytes);
  }
}

Result<std::shared_ptr<Memory>> Memory::attach(int fd) {
  struct stat status{};
  Geometry geometry{};
  const auto bytes = static_cast<ssize_t>(sizeof(geometry));
  if (fstat(fd, &status) != 0 || pread(fd, &geometry, sizeof(geometry), 0) != bytes || geometry.magic != kMagic ||
      geometry.file_bytes != static_cast<std::uint64_t>(status.st_size)) {
    return Error{.message = "file descriptor " + std::to_string(fd) +
                            " is not the memory of an engine; hand the one that the parent names to the worker"};
  }
  std::byte* base = map(fd, geometry.file_bytes);
  if (base == nullptr) return refused("mapping the memory of the engine", geometry.file_bytes);
  return std::shared_ptr<Memory>(new Memory(base, geometry, UniqueHandle()));
}

bool Memory::mine() const noexcept { return getpid() == mapper_; }

void Memory::punch(std::uint64_t begin, std::uint64_t end) const noexcept {
  static const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  begin = round_up(begin, page);
  end = end / page * page;
  if (begin < end) madvise(base_ + begin, end - begin, MADV_REMOVE);
}

std::uint64_t Memory::resident() const noexcept {
  struct stat status{};
  return fstat(fd_.get(), &status) == 0 ? static_cast<std::uint64_t>(status.st_blocks) * 512 : 0;
}

}  // namespace drapps
