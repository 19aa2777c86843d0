#include "drapps/source/source.h"

#include <limits.h>

#include <algorithm>
#include <utility>

namespace drapps {
namespace {

Error count_differs(const std::string& what, std::uint64_t has, std::uint64_t size) {
  return invalid(what + " has " + std::to_string(has) + " entries for " + std::to_string(size) +
                 " records; give one per record");
}

std::uint32_t saturated(std::uint64_t value) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(value, UINT32_MAX));
}

}  // namespace

Status Targets::check(std::uint64_t size) const {
  for (const LabelColumn& column : labels) {
    if (column.values.size() != size)
      return count_differs("label column '" + column.name + "'", column.values.size(), size);
  }
  if (!has_boxes()) {
    if (!boxes.empty() || !box_labels.empty()) return invalid("there are boxes but no box_offsets to share them out");
    return ok_status();
  }
  if (box_offsets.size() != size + 1) return count_differs("box_offsets", box_offsets.size() - 1, size);
  if (box_offsets.front() != 0 || box_offsets.back() != boxes.size() ||
      !std::is_sorted(box_offsets.begin(), box_offsets.end())) {
    return invalid("box_offsets must rise from 0 to the number of boxes, which is " + std::to_string(boxes.size()));
  }
  if (box_labels.size() != boxes.size()) {
    return invalid("there are " + std::to_string(box_labels.size()) + " box labels for " +
                   std::to_string(boxes.size()) + " boxes; give one per box");
  }
  return ok_status();
}

Source::Source(std::uint64_t size, std::vector<std::string> parts, Targets targets)
    : size_(size), parts_(std::move(parts)), targets_(std::move(targets)), memory_(std::make_unique<Memory[]>(size)) {}

Source::Source(std::uint64_t size, std::uint64_t bytes, std::uint64_t pixels)
    : size_(size), parts_(picture_parts(false)), each_{saturated(bytes), saturated(pixels)} {}

std::optional<RecordPart> Source::part_named(std::string_view name) const noexcept {
  const auto found = std::ranges::find(parts_, name);
  if (found == parts_.end()) return std::nullopt;
  return static_cast<RecordPart>(found - parts_.begin());
}

std::string Source::first_path() const {
  const char* const path = size() == 0 ? nullptr : locate(0, kFirstPart).path;
  return path == nullptr ? "" : path;
}

StorageIdentity Source::storage_identity() const {
  const std::string path = first_path();
  return path.empty() ? StorageIdentity{.kind = "memory"} : storage().describe(path);
}

BoxRange Source::boxes(std::uint64_t index) const noexcept {
  if (!targets_.has_boxes()) return {};
  const std::uint64_t first = targets_.box_offsets[index];
  const std::uint64_t count = targets_.box_offsets[index + 1] - first;
  return {std::span(targets_.boxes).subspan(first, count), std::span(targets_.box_labels).subspan(first, count)};
}

Hint Source::hint(std::uint64_t index) const noexcept {
  if (memory_ == nullptr) return each_;
  const Memory& memory = memory_[index];
  return {memory.bytes.load(std::memory_order_relaxed), memory.pixels.load(std::memory_order_relaxed)};
}

void Source::remember_bytes(std::uint64_t index, std::uint64_t bytes) noexcept {
  if (memory_ != nullptr) memory_[index].bytes.store(saturated(bytes), std::memory_order_relaxed);
}

void Source::remember_pixels(std::uint64_t index, std::uint64_t pixels) noexcept {
  if (memory_ != nullptr) memory_[index].pixels.store(saturated(pixels), std::memory_order_relaxed);
}

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
