#include "drapps/modality/device_part.h"

namespace drapps {

Result<DevicePart> PartPlan::on_device() const {
  return Error{.code = ErrorCode::kUnsupported, .message = "the samples have a part that only the CPU makes"};
}

Status PartPlan::note_trail(const PartDraws& /*draws*/, Scratch& /*scratch*/, Trail& /*trail*/) const {
  return ok_status();
}

}  // namespace drapps
