#include "drapps/base/caught.h"

#include <exception>
#include <new>

namespace drapps {
namespace {

constexpr const char* kOutOfMemory = "out of memory";  // short enough to take no memory

Error out_of_memory() noexcept { return {.code = ErrorCode::kResourceExhausted, .message = kOutOfMemory}; }

Error internal(const char* what) noexcept {
  try {
    return {.code = ErrorCode::kInternal, .message = what};
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }
}

}  // namespace

Error caught() noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  } catch (const std::exception& error) {
    return internal(error.what());
  } catch (...) {
    return internal("an unknown exception");
  }
}

void advise(Error& error) noexcept {
  if (error.code != ErrorCode::kResourceExhausted || error.message != kOutOfMemory) return;
  static_cast<void>(catching([&] {
    error.message += ": the system refused an allocation; free some memory, or lower ram_budget or the batch size";
  }));
}

}  // namespace drapps
