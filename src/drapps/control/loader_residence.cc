#include "drapps/control/loader_residence.h"

namespace drapps {

Result<std::shared_ptr<Residence>> LoaderResidence::enter(const Plan& plan, const Source& source) {
  if (!choice_ || left_ || residence_ != nullptr) return residence_;
  auto residence = Residence::make(*choice_, plan, source);
  if (residence.ok()) {
    residence_ = *residence;
  } else if (residence.error().code == ErrorCode::kResourceExhausted) {
    leave(residence.error());
    return residence_;
  }
  return residence;
}

void LoaderResidence::leave(const Error& error) {
  left_ = true;
  residence_.reset();
  warning_ = "the arrays do not live on " + choice_->device + ", and the CPU makes the batches: " + error.message;
}

}  // namespace drapps
