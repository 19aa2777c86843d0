// Which members a tar file has, and where their bytes lie.
//
//   auto file = FileWindow::open(path.c_str());
//   auto listing = list_tar(*file, {"cls", "json"});  // with the contents of files of these extensions
//   DRAPPS_RETURN_IF_ERROR(file->check_unchanged());
//
// 1. A tar file is a row of 512-byte blocks. Each member is a header block and its data, filled up to whole blocks; a
//    block of zeros, or the end of the file, ends the list.
// 2. The header has the name (100 bytes, with a prefix of 155 in ustar), the size (octal, or base 256 with the top bit
//    set, as GNU writes sizes from 8 GiB on), a checksum and the type.
// 3. A name that does not fit comes before its member: as the data of a member of type L (GNU), or as the record `path`
//    in one of type x (pax), which may also bring the `size`.
// POSIX.1-2017, pax, "ustar Interchange Format" and "pax Extended Header"; GNU tar manual, "Basic Tar Format".
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "drapps/base/result.h"
#include "drapps/storage/file_window.h"

namespace drapps {

/// A regular file in the archive. Folders, links and devices are passed over.
struct TarMember {
  std::string_view name;     // not empty, without NUL; any encoding. Valid during the visit
  std::uint64_t offset = 0;  // of its data in the file
  std::uint64_t size = 0;    // of its data, which lie in the file
};

/// Told about each member, in the order of the file. Its error ends the listing.
using TarVisitor = std::function<Status(const TarMember&)>;

/// Lists the members. Errors have the offset of the block they are about: kTruncated where the file ends inside a
/// member, kCorrupt for headers that make no sense, kUnsupported for compressed files, sparse members and archives over
/// several volumes. The visitor may read from `file`.
Status list_tar(FileWindow& file, const TarVisitor& visit);

/// All members in columns, one entry per member.
struct TarListing {
  std::string names;  // each with a NUL after it
  std::vector<std::uint64_t> offset;
  std::vector<std::uint64_t> size;
  std::vector<std::uint64_t> kept;    // the members whose content was asked for, rising
  std::vector<std::string> contents;  // of each member in `kept`
};

/// @param keep  extensions without their dot, in small letters: what follows the first dot of a member's last part, in
///              letters of either kind. The content of such members comes with the list; kTooLarge where one has more
///              than FileWindow::kMaxPiece bytes.
Result<TarListing> list_tar(FileWindow& file, const std::vector<std::string>& keep);

}  // namespace drapps
