// Which share of a file lies in the page cache, seen without reading any of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace drapps {

struct ResidencyLook {
  enum class LookOutcome : std::uint8_t {
    kSeen,
    kLeftOut,  // it is empty, no regular file or not there, or was changed meanwhile
    kNotTold,  // the kernel does not tell this process, or cannot
  };
  LookOutcome outcome = LookOutcome::kLeftOut;
  std::uint64_t bytes = 0;  // of the file; 0 where it was not seen
  double resident = 0;      // share of the pages that were looked at
};

/// Pages that one look maps and asks for, at most: 16 MiB of a file where they have 4 KiB.
inline constexpr std::size_t kResidencyPages = 4096;

/// Maps the file, or a part of it that is kResidencyPages long, and asks mincore(2). May block as open() may.
///
/// Since Linux 5.2 mincore tells of a file's pages only who owns the file, may write it or has CAP_FOWNER, and says of
/// all others' that they are there. Nobody can tell where the file system keeps a cache of its own (ZFS, GPFS).
/// @param where  in [0, 1): which part is looked at, of a file that has several.
ResidencyLook look_at_residency(const std::string& path, double where);

}  // namespace drapps
