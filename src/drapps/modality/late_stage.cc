#include "drapps/modality/late_stage.h"

namespace drapps {

Result<std::shared_ptr<LateStage>> PartPlan::late_stage(const std::shared_ptr<DeviceRoom>& /*room*/,
                                                        MemoryLedger& /*host*/) const {
  return Error{.code = ErrorCode::kUnsupported,
               .stage = Stage::kSetup,
               .message = "the samples have a part that only the CPU makes"};
}

bool PartPlan::decode_late(Sample& /*sample*/, const PartDraws& /*draws*/, LateStage& /*decoder*/, LateSink& /*sink*/,
                           bool /*augment*/) const {
  return false;
}

}  // namespace drapps
