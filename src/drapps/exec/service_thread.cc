#include "drapps/exec/service_thread.h"

#include <pthread.h>
#include <signal.h>

#include <system_error>
#include <utility>

#include "drapps/base/caught.h"

namespace drapps {

Result<ServiceThread> ServiceThread::start(const std::string& name, std::function<void(std::stop_token)> body) {
  // A thread inherits the mask of its maker. Blocking first leaves no moment in which it could take a signal.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  auto thread = catching([&]() -> Result<ServiceThread> {
    try {
      return ServiceThread(std::jthread(std::move(body)));
    } catch (const std::system_error& error) {
      return Error{
          .code = ErrorCode::kResourceExhausted,
          .message = "the system made no thread for " + name + " (" + error.what() + "); raise the limit on processes"};
    }
  });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (thread.ok()) pthread_setname_np(thread->thread_.native_handle(), name.substr(0, 15).c_str());
  return thread;
}

}  // namespace drapps
