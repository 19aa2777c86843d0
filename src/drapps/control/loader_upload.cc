#include "drapps/control/loader_upload.h"

#include <nlohmann/json.hpp>

namespace drapps {

std::shared_ptr<BatchUpload> LoaderUpload::enter(const std::string& device, const Plan& plan, const Source& source) {
  if (device_ == device) return upload_;
  device_ = device;
  upload_.reset();
  why_not_.clear();
  auto upload = BatchUpload::make(device, plan, source);
  if (upload.ok()) {
    upload_ = *std::move(upload);
  } else if (upload.error().code == ErrorCode::kResourceExhausted) {
    leave(upload.error());
  } else {
    why_not_ = upload.error().message;
  }
  return upload_;
}

void LoaderUpload::leave(const Error& error) {
  upload_.reset();
  why_not_ = error.message;
  warning_ = "batches are not finished on " + device_ + ", and copied there as the CPU has made them: " + error.message;
}

nlohmann::json LoaderUpload::to_json() const {
  if (device_.empty()) return nullptr;
  nlohmann::json root{{"device", device_}, {"copied", used_ ? "bytes" : "finished"}};
  if (!why_not_.empty()) root["why"] = why_not_;
  return root;
}

}  // namespace drapps
