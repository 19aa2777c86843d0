#include "drapps/exec/shared_work.h"

#include <algorithm>
#include <atomic>

#include "drapps/base/clock.h"

namespace drapps {
namespace {

/// Parts that are taken one after the other, by whoever comes.
class SharedParts : public WorkerClient {
 public:
  SharedParts(std::size_t parts, const std::function<void(std::size_t)>& part) noexcept : parts_(parts), part_(part) {}

  WorkFound run_one() noexcept override {
    const std::size_t mine = next_.fetch_add(1, std::memory_order_relaxed);
    if (mine >= parts_) return WorkFound::kNothing;
    part_(mine);
    return WorkFound::kWork;
  }

 private:
  const std::size_t parts_;
  const std::function<void(std::size_t)>& part_;
  std::atomic<std::size_t> next_{0};
};

}  // namespace

void share_work(WorkerGroup& group, std::size_t parts, std::size_t helpers,
                const std::function<void(std::size_t)>& part) noexcept {
  const std::uint64_t before = thread_cpu_ns();
  SharedParts work(parts, part);
  helpers = std::min(helpers, parts - std::min<std::size_t>(parts, 1));
  const bool shared =
      helpers > 0 && group.attach(work, static_cast<std::int32_t>(std::min<std::size_t>(helpers, 4096))).ok();
  while (work.run_one() == WorkFound::kWork) continue;
  if (shared) group.detach(work);
  (void)group.cpu_budget().charge(thread_cpu_ns() - before, monotonic_ns());
}

}  // namespace drapps
