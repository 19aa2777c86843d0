#include "drapps/exec/worker_group.h"

#include <algorithm>
#include <iterator>
#include <list>
#include <utility>

#include "drapps/base/caught.h"
#include "drapps/base/clock.h"
#include "drapps/exec/slices.h"

namespace drapps {
namespace {

// CPU time is booked after so many items, or so long: the thread's clock takes as long as a short item.
constexpr int kMostUncharged = 8;
constexpr std::uint64_t kUnchargedNs = 1'000'000;

}  // namespace

WorkerGroup::~WorkerGroup() {
  {
    const std::scoped_lock lock(mutex_);
    wanted_ = 0;
  }
  for (auto& thread : threads_) thread.request_stop();
}

void WorkerGroup::set_budget(std::int32_t max_workers, double cores) noexcept {
  cpu_budget_.set_cores(cores);
  std::unique_lock lock(mutex_);
  max_workers_ = std::max(max_workers, 1);
  (void)resize(lock);
}

Status WorkerGroup::attach(WorkerClient& client, std::int32_t share) {
  std::unique_lock lock(mutex_);
  DRAPPS_RETURN_IF_ERROR(catching([&] { clients_.push_back({&client, std::max(share, 1), 0}); }));
  Status status = resize(lock);
  lock.unlock();
  if (!status.ok()) detach(client);
  return status;
}

void WorkerGroup::set_share(WorkerClient& client, std::int32_t share) noexcept {
  std::unique_lock lock(mutex_);
  if (ClientEntry* entry = find(client)) entry->share = std::max(share, 1);
  (void)resize(lock);
}

void WorkerGroup::detach(WorkerClient& client) noexcept {
  std::unique_lock lock(mutex_);
  ClientEntry* entry = find(client);
  if (entry == nullptr) return;
  entry->share = 0;
  // Looked up again each time: other clients come and go meanwhile and move the entries.
  left_.wait(lock, [&] { return find(client)->inside == 0; });
  clients_.erase(clients_.begin() + (find(client) - clients_.data()));
  (void)resize(lock);
}

void WorkerGroup::wake(std::size_t items) {
  const std::scoped_lock lock(mutex_);
  ++wakes_;
  if (items >= asleep_) {
    work_.notify_all();
  } else {
    for (std::size_t i = 0; i < items; ++i) work_.notify_one();
  }
}

bool WorkerGroup::release_idle(const WorkerClient& but) {
  std::unique_lock lock(mutex_);
  bool later = false;
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    WorkerClient& client = *clients_[i].client;
    if (&client == &but || clients_[i].share == 0) continue;
    ++clients_[i].inside;
    lock.unlock();
    later |= client.release_idle();
    lock.lock();
    ClientEntry* still = find(client);  // as in serve()
    --still->inside;
    if (still->share == 0) left_.notify_all();
    i = static_cast<std::size_t>(still - clients_.data());
  }
  return later;
}

std::int32_t WorkerGroup::size() const {
  const std::scoped_lock lock(mutex_);
  return static_cast<std::int32_t>(wanted_);
}

std::string WorkerGroup::shortage() const {
  const std::scoped_lock lock(mutex_);
  return shortage_;
}

WorkerGroup::ClientEntry* WorkerGroup::find(const WorkerClient& client) {
  const auto entry =
      std::find_if(clients_.begin(), clients_.end(), [&](const ClientEntry& e) { return e.client == &client; });
  return entry == clients_.end() ? nullptr : &*entry;
}

Status WorkerGroup::resize(std::unique_lock<std::mutex>& lock) noexcept {
  std::int64_t sum = 0;
  for (const ClientEntry& entry : clients_) sum += entry.share;
  const auto wanted = static_cast<std::size_t>(std::min<std::int64_t>(sum, max_workers_));
  wanted_ = wanted;
  shortage_.clear();
  ++wakes_;
  work_.notify_all();
  if (threads_.size() > wanted) {
    // A retired worker may need the lock to end, so it is joined without it.
    std::list<ServiceThread> retired;
    retired.splice(retired.end(), threads_, std::next(threads_.begin(), static_cast<std::ptrdiff_t>(wanted)),
                   threads_.end());
    for (auto& thread : retired) thread.request_stop();
    lock.unlock();
    retired.clear();
    lock.lock();
    return ok_status();
  }
  while (threads_.size() < wanted_) {
    Status status = catching([&]() -> Status {
      std::list<ServiceThread> place(1);  // made before the thread, which is never without a place
      auto thread = ServiceThread::start("drapps-worker",
                                         [this, id = threads_.size()](const std::stop_token& stop) { run(id, stop); });
      if (!thread.ok()) return std::move(thread).error();
      place.front() = *std::move(thread);
      threads_.splice(threads_.end(), place);
      return ok_status();
    });
    if (!status.ok()) {
      wanted_ = threads_.size();
      // The other text is short enough to take no memory.
      if (!catching([&] { shortage_ = status.error().message; }).ok()) shortage_ = "out of memory";
      return status;
    }
  }
  return ok_status();
}

WorkerTimes WorkerGroup::times() const {
  const std::scoped_lock lock(mutex_);
  WorkerTimes times = ended_;
  for (Worker* worker = workers_; worker != nullptr; worker = worker->next) {
    clockid_t clock{};
    const bool readable = pthread_getcpuclockid(worker->thread, &clock) == 0;
    read(*worker, readable ? read_clock_ns(clock) : 0);
    times += worker->read;
    ++times.workers;
  }
  return times;
}

/// Clocks of several cores may differ by some nanoseconds, and a worker may lose its core in the middle of a change:
/// what was told before stands.
void WorkerGroup::read(Worker& worker, std::uint64_t cpu_ns) const noexcept {
  auto times = worker.clock.read(reasons_, cpu_ns);
  if (!times) return;
  times->not_before(worker.read);
  worker.read = *times;
}

WorkFound WorkerGroup::serve(std::unique_lock<std::mutex>& lock) {
  // Clients that come or go meanwhile wake everybody, so a round over the old ones misses nothing.
  const std::size_t first = turn_++;
  WorkFound outcome = WorkFound::kNothing;
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    ClientEntry& entry = clients_[(first + i) % clients_.size()];
    if (entry.inside >= entry.share) continue;
    WorkerClient& client = *entry.client;
    ++entry.inside;
    lock.unlock();
    outcome = std::max(outcome, client.run_one());
    lock.lock();
    ClientEntry* still = find(client);  // present while this worker is inside, perhaps elsewhere
    --still->inside;
    if (still->share == 0) left_.notify_all();
    if (outcome == WorkFound::kWork) break;
  }
  return outcome;
}

void WorkerGroup::run(std::size_t id, const std::stop_token& stop) {
  take_long_slices();
  std::uint64_t cpu_before = thread_cpu_ns();
  std::uint64_t charged_ns = monotonic_ns();
  int uncharged = 0;  // items since charged_ns
  Worker worker{.clock = {}, .thread = pthread_self()};
  std::unique_lock lock(mutex_);
  worker.next = std::exchange(workers_, &worker);
  while (!stop.stop_requested() && id < wanted_) {
    const std::uint64_t seen = wakes_;
    const WorkFound outcome = serve(lock);
    if (outcome == WorkFound::kWork) {
      const std::uint64_t now = monotonic_ns();
      if (++uncharged < kMostUncharged && now - charged_ns < kUnchargedNs) continue;
      const std::uint64_t cpu = thread_cpu_ns();
      auto pause = cpu_budget_.charge(cpu - cpu_before, now);
      cpu_before = cpu;
      charged_ns = now;
      uncharged = 0;
      if (pause.count() <= 0) continue;
      worker.clock.enter(WorkerClock::kPaused);
      while (pause.count() > 0 && !stop.stop_requested() && id < wanted_) {
        work_.wait_for(lock, stop, std::min<std::chrono::nanoseconds>(pause, CpuBudget::kSlice),
                       [&] { return id >= wanted_; });
        pause = cpu_budget_.charge(0, monotonic_ns());
      }
      worker.clock.enter(WorkerClock::kOther);
      continue;
    }
    if (wakes_ != seen) continue;  // what was found may hold no more
    if (outcome != reasons_.reason()) reasons_.change(outcome, monotonic_ns());
    ++asleep_;
    worker.clock.sleep(reasons_);
    work_.wait(lock, stop, [&] { return wakes_ != seen || id >= wanted_; });
    worker.clock.wake(reasons_);
    --asleep_;
  }
  read(worker, thread_cpu_ns());
  Worker** place = &workers_;
  while (*place != &worker) place = &(*place)->next;
  *place = worker.next;
  ended_ += worker.read;
}

}  // namespace drapps
