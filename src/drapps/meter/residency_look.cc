#include "drapps/meter/residency_look.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "drapps/base/unique_handle.h"

namespace drapps {
namespace {

constexpr ResidencyLook kNotTold{.outcome = ResidencyLook::LookOutcome::kNotTold};
// Numbers of file systems, ZFS and GPFS, that have no name in linux/magic.h.
constexpr long kZfs = 0x2fc12fc1;
constexpr long kGpfs = 0x47504653;
constexpr uid_t kUnmappedUser = 65534;  // whom a namespace of users shows in the place of all that it does not have

bool may_act_as_owner() {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> sets{};
  if (::syscall(SYS_capget, &header, sets.data()) != 0) return false;
  return (sets[CAP_TO_INDEX(CAP_FOWNER)].effective & CAP_TO_MASK(CAP_FOWNER)) != 0;
}

/// The kernel's rule: can_do_mincore() in mm/mincore.c.
bool is_told(const std::string& path, const struct stat& file) {
  return file.st_uid == ::geteuid() || ::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0 ||
         (file.st_uid != kUnmappedUser && may_act_as_owner());
}

bool is_unchanged(const struct stat& a, const struct stat& b) {
  return a.st_size == b.st_size && a.st_mtim.tv_sec == b.st_mtim.tv_sec && a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

/// How many of the pages from `offset` on are in memory; -1 where that cannot be said.
int resident_pages(int file, std::size_t offset, std::size_t pages, std::size_t page_bytes) {
  void* const mapped = ::mmap(nullptr, pages * page_bytes, PROT_READ, MAP_SHARED, file, static_cast<off_t>(offset));
  if (mapped == MAP_FAILED) return -1;
  std::array<unsigned char, kResidencyPages> there;  // the lowest bit of each tells whether a page is
  const bool success = ::mincore(mapped, pages * page_bytes, there.data()) == 0;
  ::munmap(mapped, pages * page_bytes);
  if (!success) return -1;
  return static_cast<int>(std::count_if(there.begin(), there.begin() + static_cast<std::ptrdiff_t>(pages),
                                        [](unsigned char page) { return (page & 1) != 0; }));
}

}  // namespace

ResidencyLook look_at_residency(const std::string& path, double where) {
  const UniqueHandle file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file) return errno == ENOENT || errno == ENOTDIR ? ResidencyLook{} : kNotTold;
  struct stat before{};
  struct stat after{};
  if (::fstat(file.get(), &before) != 0 || !S_ISREG(before.st_mode) || before.st_size <= 0) return {};
  struct statfs system{};
  if (::fstatfs(file.get(), &system) != 0 || system.f_type == kZfs || system.f_type == kGpfs) return kNotTold;
  if (!is_told(path, before)) return kNotTold;

  const auto bytes = static_cast<std::size_t>(before.st_size);
  const auto page_bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t pages = (bytes - 1) / page_bytes + 1;
  const std::size_t parts = (pages - 1) / kResidencyPages + 1;
  const std::size_t part = std::min(static_cast<std::size_t>(where * static_cast<double>(parts)), parts - 1);
  const std::size_t first = part * kResidencyPages;
  const std::size_t count = std::min(kResidencyPages, pages - first);
  const int resident = resident_pages(file.get(), first * page_bytes, count, page_bytes);
  if (resident < 0) return kNotTold;
  if (::fstat(file.get(), &after) != 0 || !is_unchanged(before, after) || after.st_nlink == 0) return {};
  return {ResidencyLook::LookOutcome::kSeen, bytes, static_cast<double>(resident) / static_cast<double>(count)};
}

}  // namespace drapps
