// Where the arrays of a loader live: on a device from its first pass on, or where they are.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "drapps/pipeline/plan.h"
#include "drapps/pipeline/residence.h"
#include "drapps/source/source.h"

namespace drapps {

/// For one process; all members are called with the loader's lock.
class LoaderResidence {
 public:
  /// @param choice  nothing: the arrays stay where they are.
  explicit LoaderResidence(std::optional<DeviceChoice> choice) : choice_(std::move(choice)) {}

  /// Where the arrays live, made by the first call; null where they stay, also because the device has no memory for
  /// them. Other errors as Residence::make().
  Result<std::shared_ptr<Residence>> enter(const Plan& plan, const Source& source);
  /// The device has no memory for the arrays' batches either: the arrays stay where they are, from now on.
  void leave(const Error& error);
  /// Whether the arrays live on the device.
  bool lives() const noexcept { return residence_ != nullptr; }
  /// Why the arrays do not live on the device, or no more; once, else empty.
  std::string take_warning() { return std::exchange(warning_, {}); }

 private:
  const std::optional<DeviceChoice> choice_;
  bool left_ = false;
  std::shared_ptr<Residence> residence_;
  std::string warning_;  // that nobody has taken
};

}  // namespace drapps
