// What lists the records of shards must hold for any bytes at all: no fault, records inside the file, as many of
// everything as there are records. Each input is taken for a tar file, as it is and with checksums that fit, and for a
// packed shard of several kinds of columns.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "drapps/source/packed.h"
#include "drapps/source/tar.h"

namespace drapps {
namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

/// Corrects the checksum of every block that could be a header: some data are changed as well.
void repair(std::vector<std::uint8_t>& bytes) {
  for (std::size_t at = 0; at + 512 <= bytes.size(); at += 512) {
    unsigned sum = 8 * ' ';
    for (std::size_t i = 0; i < 512; ++i) sum += i >= 148 && i < 156 ? 0u : bytes[at + i];
    if (sum == 8 * ' ') continue;  // zeros
    char text[16];
    std::snprintf(text, sizeof text, "%06o", sum);
    for (std::size_t i = 0; i < 6; ++i) bytes[at + 148 + i] = static_cast<std::uint8_t>(text[i]);
    bytes[at + 154] = 0;
    bytes[at + 155] = ' ';
  }
}

void try_tar(std::span<const std::uint8_t> bytes) {
  FileWindow window(bytes);
  std::uint64_t end = 0;
  std::size_t members = 0;
  const Status status = list_tar(window, [&](const TarMember& member) -> Status {
    require(!member.name.empty() && member.name.find('\0') == std::string_view::npos);
    require(member.offset >= end + 512 && member.offset <= bytes.size());
    require(member.size <= bytes.size() - member.offset);
    end = member.offset + member.size;
    ++members;
    return ok_status();
  });
  require(status.ok() || (!status.error().message.empty() && status.error().offset >= 0));

  const Result<TarListing> listing = list_tar(window, std::vector<std::string>{"cls", "json"});
  require(!listing.ok() || (status.ok() && listing->offset.size() == members && listing->size.size() == members &&
                            listing->kept.size() == listing->contents.size()));
  if (!listing.ok()) return;
  for (std::size_t i = 0; i < listing->kept.size(); ++i) {
    require(listing->contents[i].size() == listing->size[listing->kept[i]]);
  }
}

std::vector<PackedColumns> descriptions() {
  constexpr std::int64_t kVariable = PackedColumns::kVariable;
  return {
      {.sizes = {kVariable, kVariable, 8}, .image = 1, .labels = {{2, PackedInteger::kSigned}}},
      {.sizes = {kVariable, kVariable, kVariable},
       .image = 0,
       .labels = {{1, PackedInteger::kSigned}, {2, PackedInteger::kDecimal}}},
      {.sizes = {kVariable}, .image = 0, .labels = {}},
      {.sizes = {4, kVariable, 1, 0},
       .image = 3,
       .labels = {{0, PackedInteger::kUnsigned}, {2, PackedInteger::kSigned}, {1, PackedInteger::kUnsigned}}},
  };
}

void try_packed(std::span<const std::uint8_t> bytes, const PackedColumns& columns) {
  FileWindow window(bytes);
  const Result<PackedListing> listing = list_packed(window, columns);
  if (!listing.ok()) {
    require(!listing.error().message.empty() && listing.error().offset >= 0);
    return;
  }
  const std::size_t count = listing->offset.size();
  require(count <= bytes.size() / 4 && listing->length.size() == count &&
          listing->labels.size() == columns.labels.size());
  for (const std::vector<std::int64_t>& label : listing->labels) require(label.size() == count);
  for (std::size_t i = 0; i < count; ++i) {
    require(listing->offset[i] <= bytes.size() && listing->length[i] <= bytes.size() - listing->offset[i]);
  }
}

}  // namespace
}  // namespace drapps

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  drapps::try_tar({data, size});
  std::vector<std::uint8_t> repaired(data, data + size);
  drapps::repair(repaired);
  drapps::try_tar(repaired);

  static const std::vector<drapps::PackedColumns> kDescriptions = drapps::descriptions();
  for (const drapps::PackedColumns& columns : kDescriptions) drapps::try_packed({data, size}, columns);
  return 0;
}
