#include "drapps/control/data_files.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <system_error>

#include "drapps/base/philox.h"

namespace drapps {

std::shared_ptr<const DataFiles> data_files_of(const Source& source) {
  DataFiles files;
  const std::uint64_t looks = std::min<std::uint64_t>(source.size(), kMostDataFiles);
  const auto records = static_cast<std::uint32_t>(std::min<std::uint64_t>(source.size(), UINT32_MAX));
  for (std::uint64_t i = 0; i < looks; ++i) {
    const std::uint64_t index = looks == source.size() ? i : Draws({.position = i}, 0).below(records);
    if (const char* const path = source.locate(index, kFirstPart).path) files.paths.emplace_back(path);
  }
  if (files.paths.empty()) return nullptr;
  std::error_code failed;
  const auto place = std::filesystem::canonical(files.paths.front(), failed);
  if (!failed) files.place = place.string();
  return std::make_shared<const DataFiles>(std::move(files));
}

}  // namespace drapps
