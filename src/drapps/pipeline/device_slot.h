// A slot on a device, about to be filled again.
#pragma once

#include <memory>
#include <utility>

#include "drapps/base/result.h"
#include "drapps/deliver/slot_arena.h"
#include "drapps/device/device.h"

namespace drapps {

/// Makes an event where there is none yet.
inline Status ensure_event(device::Device& device, std::unique_ptr<device::Event>& event) {
  if (event != nullptr) return ok_status();
  auto made = device.event();
  if (!made.ok()) return std::move(made).error();
  event = *std::move(made);
  return ok_status();
}

/// What is asked of the stream from now on begins when all uses of the slot have ended.
inline Status begin_fill(device::Device& device, device::Stream& stream, Slot& slot) {
  DRAPPS_RETURN_IF_ERROR(ensure_event(device, slot.made));
  DRAPPS_RETURN_IF_ERROR(stream.wait(*slot.made));  // where nobody has waited for the batch before
  for (const auto& use : slot.uses) DRAPPS_RETURN_IF_ERROR(stream.wait(*use));
  slot.uses.clear();
  return ok_status();
}

}  // namespace drapps
