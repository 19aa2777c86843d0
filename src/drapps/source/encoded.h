// Records that are encoded pictures, perhaps with masks: files, or bytes in memory.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "drapps/base/result.h"
#include "drapps/source/path_list.h"
#include "drapps/source/source.h"
#include "drapps/source/targets.h"

namespace drapps {

/// What the parts of a record are called that is a picture, perhaps with a mask.
inline constexpr const char* kImageName = "image";
inline constexpr const char* kMaskName = "mask";

/// The parts of pictures, with masks or without.
std::vector<std::string> picture_parts(bool masks);

/// One file per image, and optionally one per mask.
class FileSource final : public Source {
 public:
  /// kInvalidArgument where the counts differ; without masks, `masks` is empty.
  /// Files are not touched before they are read.
  static Result<std::unique_ptr<FileSource>> make(PathList images, PathList masks = {}, Targets targets = {});

  Location locate(std::uint64_t index, RecordPart part) const noexcept override;
  std::string name(std::uint64_t index, RecordPart part) const override;

 private:
  FileSource(PathList images, PathList masks, Targets targets);
  PathList images_;
  PathList masks_;
};

/// Encoded images (and masks) that are already in memory. Single images may lie in files instead.
class MemorySource final : public Source {
 public:
  using Bytes = std::span<const std::uint8_t>;
  /// @param owner  keeps the bytes alive and unchanged as long as the source.
  /// @param files  of the images whose Bytes have no data, one after the other. kInvalidArgument where their number
  ///               differs.
  static Result<std::unique_ptr<MemorySource>> make(std::vector<Bytes> images, std::shared_ptr<const void> owner,
                                                    std::vector<Bytes> masks = {}, Targets targets = {},
                                                    PathList files = {});

  Location locate(std::uint64_t index, RecordPart part) const noexcept override;
  std::string name(std::uint64_t index, RecordPart part) const override;
  std::string first_path() const override { return files_.size() == 0 ? "" : files_[0]; }

 private:
  MemorySource(std::vector<Bytes> images, std::shared_ptr<const void> owner, std::vector<Bytes> masks, Targets targets,
               PathList files);
  static constexpr std::uint32_t kNoFile = UINT32_MAX;
  std::vector<Bytes> images_;
  std::vector<Bytes> masks_;
  std::shared_ptr<const void> owner_;
  PathList files_;
  std::vector<std::uint32_t> file_of_;  // per record: its number in files_; empty where there are none
};

}  // namespace drapps
