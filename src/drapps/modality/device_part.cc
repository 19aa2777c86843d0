#include "drapps/modality/device_part.h"

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace drapps {

static_assert(std::is_trivially_copyable_v<Erasure>);

void write_erasures(std::span<const Erasure> erasures, std::byte* row) noexcept {
  const std::uint64_t count = erasures.size();
  std::memcpy(row, &count, sizeof(count));
  if (count > 0) std::memcpy(row + sizeof(count), erasures.data(), erasures.size_bytes());
}

void read_erasures(const std::byte* row, std::vector<Erasure>& erasures) {
  std::uint64_t count = 0;
  std::memcpy(&count, row, sizeof(count));
  erasures.resize(count);
  if (count > 0) std::memcpy(erasures.data(), row + sizeof(count), count * sizeof(Erasure));
}

Result<CarriedPart> PartPlan::carried() const {
  return Error{.code = ErrorCode::kUnsupported, .message = "the samples have a part that only the CPU finishes"};
}

Result<DevicePart> PartPlan::on_device() const {
  return Error{.code = ErrorCode::kUnsupported, .message = "the samples have a part that only the CPU makes"};
}

Status PartPlan::note_trail(const PartDraws& /*draws*/, Scratch& /*scratch*/, Trail& /*trail*/) const {
  return ok_status();
}

}  // namespace drapps
