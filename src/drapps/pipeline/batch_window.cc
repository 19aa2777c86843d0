#include "drapps/pipeline/batch_window.h"

#include <algorithm>

#include "drapps/pipeline/window_methods.h"

namespace drapps {

template class Window<SlotPayload>;

std::optional<Error> SlotPayload::complete(Slot* slot, std::uint64_t step, std::uint32_t& rows,
                                           std::vector<FailedRow>& failed) {
  auto raised = std::find_if(failed.begin(), failed.end(), [](const FailedRow& row) { return blameless(row.second); });
  if (plan_->spec.on_error == OnError::kRaise) raised = failed.begin();
  if (raised != failed.end()) return std::move(raised->second);
  std::vector<std::uint32_t> bad_rows;
  bad_rows.reserve(failed.size());
  for (const auto& [row, error] : failed) bad_rows.push_back(row);
  rows = plan_->drop_rows(slot->data(), rows, bad_rows);
  if (ops_) ops_(slot->data(), step, rows);
  return std::nullopt;
}

HeldSlot SlotPayload::yield(Slot* slot, std::uint64_t step, std::uint32_t rows) {
  if (arena_->on_host()) plan_->write_header(slot->data(), step, epoch_, rows);
  return arena_->yield(slot);
}

}  // namespace drapps
