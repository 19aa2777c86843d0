#include "drapps/worker/claim.h"

#include <algorithm>
#include <tuple>

#include "drapps/base/clock.h"
#include "drapps/worker/wakeups.h"

namespace drapps {
namespace {

constexpr std::uint32_t kPinned = 0;  // the first rank

}  // namespace

std::optional<Claim> Claimer::claim() {
  look();
  // Tasks come while it looks, and it may have passed the place of one just before that came. What is pinned is made in
  // order: all that is older than what it saw is there when it looks again.
  if (!candidates_.empty() && candidates_.front().rank == kPinned) look();
  for (const TaskCandidate& candidate : candidates_) {
    if (candidate.word.state == kTaskOpen) {
      if (claim_task(*candidate.task, candidate.word)) return Claim{candidate.task, candidate.word.ticket, -1};
    } else if (const std::int32_t piece = claim_piece(*candidate.task, candidate.word.ticket); piece >= 0) {
      return Claim{candidate.task, candidate.word.ticket, piece};
    }
  }
  return std::nullopt;
}

/// Lists what may be taken. What is read here may be another task's by now; the claim itself is exact.
void Claimer::look() {
  candidates_.clear();
  const std::uint64_t oldest = memory_.header().oldest.load();
  const std::uint64_t next = memory_.header().next.load();
  // A slow task may be older than all places there are.
  for (std::uint64_t i = next - std::min<std::uint64_t>(next - oldest, memory_.max_tasks()); i < next; ++i) {
    TaskEntry& task = memory_.task(i);
    const Word word = Word::of(task.word.load());
    if ((word.state != kTaskOpen && word.state != kTaskOwned) || task.cancelled.load() != 0) continue;
    const std::int32_t pinned = task.pinned.load(std::memory_order_relaxed);
    const bool to_me = pinned == static_cast<std::int32_t>(number_);
    if (pinned >= 0 && !(to_me && word.state == kTaskOpen)) continue;
    if (word.state == kTaskOwned && (word.process == number_ || task.piece_count() == 0)) continue;
    std::uint32_t rank = word.state == kTaskOpen ? 2 : 3;
    if (task.urgent.load(std::memory_order_relaxed) != 0) rank = 1;
    if (to_me) rank = kPinned;
    candidates_.push_back({rank, word, &task});
  }
  std::ranges::sort(candidates_, {}, [](const TaskCandidate& one) { return std::tuple(one.rank, one.word.ticket); });
}

bool Claimer::claim_task(TaskEntry& task, Word word) const {
  std::uint64_t open = word.bits();
  const std::uint64_t owned = Word{.ticket = word.ticket, .process = number_, .state = kTaskOwned}.bits();
  if (!task.word.compare_exchange_strong(open, owned)) return false;
  const std::int32_t pinned = task.pinned.load();
  if (pinned < 0 || pinned == static_cast<std::int32_t>(number_)) {
    task.claimed_ns.store(monotonic_ns(), std::memory_order_relaxed);
    return true;
  }
  task.word.store(open);  // the parent gave it to another meanwhile
  wake_workers(memory_);
  return false;
}

std::int32_t Claimer::claim_piece(TaskEntry& task, std::uint64_t ticket) const {
  const std::uint64_t free = Word{.ticket = ticket, .state = kPieceFree}.bits();
  const std::uint64_t running = Word{.ticket = ticket, .process = number_, .state = kPieceRunning}.bits();
  const auto pieces = static_cast<std::int32_t>(task.piece_count());
  for (std::int32_t i = pieces; i-- > 0;) {
    std::uint64_t bits = task.piece[i].load(std::memory_order_relaxed);
    if (bits != free || !task.piece[i].compare_exchange_strong(bits, running)) continue;
    // From here on the task cannot go away. It may have come to an end just before.
    const Word word = Word::of(task.word.load());
    const bool wanted = (word.state == kTaskOwned || word.state == kTaskOpen) && task.cancelled.load() == 0;
    if (wanted && task.pinned.load() < 0) return i;
    task.piece[i].store(free);
    wake_owner(memory_, task);
    return -1;
  }
  return -1;
}

}  // namespace drapps
