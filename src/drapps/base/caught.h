// Exceptions become errors where a thread, a destructor or a lock would let them end the process.
//
//   Status status = catching([&] { entries.push_back(entry); });        // success, or the error of what it throws
//   auto planned = catching([&] { return Plan::make(spec, source); });  // a Result stays a Result
#pragma once

#include <type_traits>
#include <utility>

#include "drapps/base/result.h"

namespace drapps {

/// The error for the exception that is being handled: kResourceExhausted for a failed allocation, kInternal with its
/// text for any other. Takes no memory for the former, whose message fits into the string itself.
Error caught() noexcept;

/// Has the error of a failed allocation say what to do about it, where there is memory for that again.
void advise(Error& error) noexcept;

/// What `function` returns, a Result (nothing counts as success); or an Error for what it throws.
template <class Function>
auto catching(Function&& function) noexcept {
  using Returned = std::invoke_result_t<Function>;
  using Outcome = std::conditional_t<std::is_void_v<Returned>, Status, Returned>;
  try {
    if constexpr (std::is_void_v<Returned>) {
      std::forward<Function>(function)();
      return ok_status();
    } else {
      return Outcome(std::forward<Function>(function)());
    }
  } catch (...) {
    return Outcome(caught());
  }
}

}  // namespace drapps
