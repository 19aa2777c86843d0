#include "drapps/pipeline/starvation.h"

#include "drapps/pipeline/batch_window.h"

namespace drapps {

bool Starvation::waits_on(SampleTask& task, bool front, bool awaited, bool shared, std::uint64_t now_ns) noexcept {
  std::uint64_t& since = task.fetch.starved_ns;
  if (front && awaited && since == 0) since = now_ns;
  return !front || (shared && (since == 0 || now_ns - since < BatchWindow::kMemoryPatienceNs));
}

}  // namespace drapps
