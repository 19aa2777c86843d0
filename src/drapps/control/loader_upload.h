// Whether the batches of a loader are finished on a device: their bytes are copied there and normalised, or they are
// made on the host, and who takes them copies them.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>

#include "drapps/base/result.h"
#include "drapps/pipeline/batch_upload.h"

namespace drapps {

/// For one process; all members are called with the loader's lock.
class LoaderUpload {
 public:
  /// What brings the batches of a pass to the device, made by the first pass; null where nothing can.
  std::shared_ptr<BatchUpload> enter(const std::string& device, const Plan& plan, const Source& source);
  /// The device has no memory for the batches: passes to come make them on the host.
  void leave(const Error& error);
  /// The latest pass has its batches on the device, or not.
  void use(bool used) noexcept { used_ = used; }
  bool used() const noexcept { return used_; }
  /// Why batches are not on the device, for want of its memory; once, else empty.
  std::string take_warning() { return std::exchange(warning_, {}); }

  /// {"device", "copied": "bytes" or "finished", "why": what keeps it from bytes}; null before a pass has asked.
  nlohmann::json to_json() const;

 private:
  std::string device_;  // that passes have asked for last
  std::shared_ptr<BatchUpload> upload_;
  bool used_ = false;
  std::string why_not_;
  std::string warning_;  // that nobody has taken
};

}  // namespace drapps
