// The loop of the control plane: one thread for all plants of the process.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>

#include "drapps/control/client.h"
#include "drapps/exec/service_thread.h"

namespace drapps {

/// Ticks every client it was given, ten times a second. Its thread is made with the first client and sleeps while there
/// is none. Plants time their observations by monotonic_ns(). All members may be called from any thread.
///
/// Whatever goes wrong here, the loaders go on: a client that fails stops alone, a failure of the loop itself stops all
/// clients and is recorded in the log of each ("control stopped: …"). Where there is no thread, or no memory for a
/// client, that client's log says so.
///
/// After fork() the child has no thread: there, a Controller is abandoned, never used or destroyed.
class Controller {
 public:
  struct ControllerOptions {
    std::chrono::milliseconds tick{100};
    std::function<void()> before_tick{};  // called by the loop; for tests, which make it throw
  };

  /// This process's (process_local.h).
  static Controller& of_process();
  Controller() : Controller(ControllerOptions{}) {}
  explicit Controller(ControllerOptions options) : options_(std::move(options)) {}
  /// Ends the thread and waits for it: at most for a tick.
  ~Controller();
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;

  /// Brings a client under control, until it was removed as often as it was added.
  void add(const std::shared_ptr<Client>& client) noexcept;
  /// Waits for nothing: a round of ticks that is under way may still tick the client. Unknown clients are ignored.
  void remove(const std::shared_ptr<Client>& client) noexcept;

 private:
  void run(const std::stop_token& stop) noexcept;
  void loop(const std::stop_token& stop);

  const ControllerOptions options_;
  std::mutex mutex_;  // guards all below
  std::condition_variable_any changed_;
  std::map<std::shared_ptr<Client>, std::size_t> clients_;  // and how often each was added
  bool idle_ = false;                                       // the thread waits for a client
  std::string failure_;                                     // why the loop ended, empty while it did not
  ServiceThread thread_;
};

}  // namespace drapps
