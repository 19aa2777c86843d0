#include "drapps/source/path_list.h"

#include <limits.h>

#include <string>

namespace drapps {

void PathList::reserve(std::size_t paths, std::size_t bytes) {
  offsets_.reserve(paths);
  bases_.reserve(paths / kGroup + 1);
  bytes_.reserve(bytes + paths);
}

Status PathList::append(std::string_view path) {
  if (path.empty()) return invalid("path " + std::to_string(size()) + " is empty");
  if (path.size() >= PATH_MAX) {
    return invalid("path " + std::to_string(size()) + " has " + std::to_string(path.size()) +
                   " bytes; the system opens at most " + std::to_string(PATH_MAX - 1));
  }
  if (path.find('\0') != std::string_view::npos) {
    return invalid("path " + std::to_string(size()) + " holds a NUL byte, which no file name has");
  }
  if (offsets_.size() % kGroup == 0) bases_.push_back(bytes_.size());
  offsets_.push_back(static_cast<std::uint32_t>(bytes_.size() - bases_.back()));
  bytes_.insert(bytes_.end(), path.begin(), path.end());
  bytes_.push_back('\0');
  return ok_status();
}

}  // namespace drapps
