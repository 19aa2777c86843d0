// Which files a loader's data lie in, as far as the meters of the process look at them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "drapps/source/source.h"

namespace drapps {

/// The most files of a source that are looked at: a sample of a fixed seed where there are more records.
inline constexpr std::size_t kMostDataFiles = 1024;

/// A copy, so that no meter keeps a source alive.
struct DataFiles {
  std::vector<std::string> paths;  // as the source has them
  std::string place;               // of the first one, without symbolic links; "" where it is not there
};

/// Null where all records are in memory. Looks at one file's path.
std::shared_ptr<const DataFiles> data_files_of(const Source& source);

}  // namespace drapps
