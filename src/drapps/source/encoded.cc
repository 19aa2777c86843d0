#include "drapps/source/encoded.h"

#include <algorithm>
#include <utility>

namespace drapps {

std::vector<std::string> picture_parts(bool masks) {
  std::vector<std::string> names{kImageName};
  if (masks) names.emplace_back(kMaskName);
  return names;
}

Result<std::unique_ptr<FileSource>> FileSource::make(PathList images, PathList masks, Targets targets) {
  if (masks.size() != 0 && masks.size() != images.size())
    return count_differs("the list of masks", masks.size(), images.size());
  DRAPPS_RETURN_IF_ERROR(targets.check(images.size()));
  return std::unique_ptr<FileSource>(new FileSource(std::move(images), std::move(masks), std::move(targets)));
}

FileSource::FileSource(PathList images, PathList masks, Targets targets)
    : Source(images.size(), picture_parts(masks.size() != 0), std::move(targets)),
      images_(std::move(images)),
      masks_(std::move(masks)) {}

Location FileSource::locate(std::uint64_t index, RecordPart part) const noexcept {
  return {.path = part == kFirstPart ? images_[index] : masks_[index], .bytes = {}};
}

std::string FileSource::name(std::uint64_t index, RecordPart part) const { return locate(index, part).path; }

Result<std::unique_ptr<MemorySource>> MemorySource::make(std::vector<Bytes> images, std::shared_ptr<const void> owner,
                                                         std::vector<Bytes> masks, Targets targets, PathList files) {
  if (!masks.empty() && masks.size() != images.size()) {
    return count_differs("the list of masks", masks.size(), images.size());
  }
  DRAPPS_RETURN_IF_ERROR(targets.check(images.size()));
  const auto elsewhere = static_cast<std::uint64_t>(
      std::count_if(images.begin(), images.end(), [](const Bytes& image) { return image.data() == nullptr; }));
  if (files.size() != 0 && files.size() != elsewhere) {
    return count_differs("the list of files, for those without bytes,", files.size(), elsewhere);
  }
  return std::unique_ptr<MemorySource>(
      new MemorySource(std::move(images), std::move(owner), std::move(masks), std::move(targets), std::move(files)));
}

MemorySource::MemorySource(std::vector<Bytes> images, std::shared_ptr<const void> owner, std::vector<Bytes> masks,
                           Targets targets, PathList files)
    : Source(images.size(), picture_parts(!masks.empty()), std::move(targets)),
      images_(std::move(images)),
      masks_(std::move(masks)),
      owner_(std::move(owner)),
      files_(std::move(files)) {
  if (files_.size() != 0) file_of_.reserve(size());
  std::uint32_t file = 0;
  for (std::uint64_t i = 0; i < size(); ++i) {
    const bool here = images_[i].data() != nullptr;
    if (here) remember_bytes(i, images_[i].size());
    if (files_.size() != 0) file_of_.push_back(here ? kNoFile : file++);
  }
}

Location MemorySource::locate(std::uint64_t index, RecordPart part) const noexcept {
  if (part != kFirstPart) return {.path = nullptr, .bytes = masks_[index]};
  if (!file_of_.empty() && file_of_[index] != kNoFile) return {.path = files_[file_of_[index]], .bytes = {}};
  return {.path = nullptr, .bytes = images_[index]};
}

std::string MemorySource::name(std::uint64_t index, RecordPart part) const {
  if (part != kFirstPart) return "memory[" + std::to_string(index) + "].mask";
  const char* const path = locate(index, part).path;
  return path != nullptr ? path : "memory[" + std::to_string(index) + "]";
}

}  // namespace drapps
