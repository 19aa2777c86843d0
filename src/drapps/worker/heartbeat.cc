#include "drapps/worker/heartbeat.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <system_error>

#include "drapps/base/clock.h"
#include "drapps/base/unique_handle.h"

namespace drapps {
namespace {

constexpr int kPeriodMs = 250;

Error no_descriptor(const char* what) {
  return Error{.code = ErrorCode::kResourceExhausted,
               .message = std::string(what) + " failed: " + std::generic_category().message(errno) +
                          "; raise the limit on open files (ulimit -n)"};
}

/// True unless it is certain that the parent has ended: where no descriptor is left, /proc does not tell.
bool alive(const Parent& parent) {
  return !ProcessName{.pid = parent.pid, .start = parent.start & ProcessName::kStartMask}.has_ended();
}

/// Sleeps one period; false where the parent is gone.
bool sleep_with(const Parent& parent, int pidfd, int wake) {
  std::array<pollfd, 2> watched{pollfd{.fd = wake, .events = POLLIN}, pollfd{.fd = pidfd, .events = POLLIN}};
  poll(watched.data(), watched.size(), kPeriodMs);
  return pidfd >= 0 ? watched[1].revents == 0 : alive(parent);
}

}  // namespace

Result<Heartbeat> Heartbeat::start(const std::shared_ptr<BoardMemory>& memory, std::uint32_t number,
                                   const Parent& parent, bool kill_with_parent) {
  if (kill_with_parent) prctl(PR_SET_PDEATHSIG, SIGKILL);
  auto pidfd = std::make_shared<UniqueHandle>(static_cast<int>(syscall(SYS_pidfd_open, parent.pid, 0)));
  // Sandboxes may forbid pidfds. Then the parent is looked up each time.
  if (!*pidfd && (errno == EMFILE || errno == ENFILE)) return no_descriptor("watching the parent process");
  auto wake = std::make_shared<UniqueHandle>(eventfd(0, EFD_CLOEXEC));
  if (!*wake) return no_descriptor("making an event");
  // Asked only now: had the parent died before, its number might have been another's when the pidfd was opened.
  if (!alive(parent)) _exit(1);
  auto thread =
      ServiceThread::start("drapps-beat", [memory, number, parent, pidfd, wake](const std::stop_token& token) {
        const std::stop_callback on_stop(token, [&] { eventfd_write(wake->get(), 1); });
        ProcessEntry& process = memory->process(number);
        while (!token.stop_requested()) {
          process.cpu_ns.store(process_cpu_ns(), std::memory_order_relaxed);
          process.heartbeats.store(process.heartbeats.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
          if (!sleep_with(parent, pidfd->get(), wake->get())) _exit(1);
        }
      });
  if (!thread.ok()) return std::move(thread).error();
  return Heartbeat(std::move(thread).value());
}

}  // namespace drapps
