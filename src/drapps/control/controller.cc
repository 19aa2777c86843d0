#include "drapps/control/controller.h"

#include <algorithm>
#include <string>
#include <vector>

#include "drapps/base/caught.h"
#include "drapps/base/clock.h"
#include "drapps/base/process_local.h"

namespace drapps {

Controller& Controller::of_process() { return process_local<Controller>(); }

Controller::~Controller() {
  // Not under the mutex: the thread takes it on its way out.
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
}

void Controller::add(const std::shared_ptr<Client>& client) noexcept {
  const std::lock_guard lock(mutex_);
  if (failure_.empty() && !thread_.joinable()) {
    auto thread = ServiceThread::start("drapps-control", [this](const std::stop_token& stop) { run(stop); });
    if (!thread.ok()) {
      client->stop(thread.error().message);
      return;
    }
    thread_ = std::move(*thread);
  }
  if (!failure_.empty()) {
    client->stop(failure_);
    return;
  }
  if (const Status added = catching([&] { ++clients_[client]; }); !added.ok()) {
    client->stop(added.error().message);
    return;
  }
  if (idle_) changed_.notify_all();  // passes that follow each other wake nobody
}

void Controller::remove(const std::shared_ptr<Client>& client) noexcept {
  const std::lock_guard lock(mutex_);
  const auto entry = clients_.find(client);
  if (entry != clients_.end() && --entry->second == 0) clients_.erase(entry);
}

void Controller::run(const std::stop_token& stop) noexcept {
  Status ended = catching([&] { loop(stop); });
  if (ended.ok()) return;
  const std::lock_guard lock(mutex_);
  failure_ = std::move(ended).error().message;
  if (failure_.empty()) failure_ = "no reason given";
  for (const auto& [client, times] : clients_) client->stop(failure_);
  clients_.clear();
}

void Controller::loop(const std::stop_token& stop) {
  std::vector<std::shared_ptr<Client>> due;
  auto next = std::chrono::steady_clock::now();
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      idle_ = true;
      if (!changed_.wait(lock, stop, [&] { return !clients_.empty(); })) return;
      idle_ = false;
      next = std::max(next + options_.tick, std::chrono::steady_clock::now());
      changed_.wait_until(lock, stop, next, [] { return false; });
      if (stop.stop_requested()) return;
      for (const auto& [client, times] : clients_) due.push_back(client);
    }
    // Clients are ticked without the lock, so that adding and removing never wait for a plant.
    if (options_.before_tick) options_.before_tick();
    for (const auto& client : due) client->tick(monotonic_ns);
    due.clear();
  }
}

}  // namespace drapps
