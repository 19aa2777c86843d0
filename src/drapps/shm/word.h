// Who has something of shared memory, in one word.
#pragma once

#include <atomic>
#include <cstdint>

namespace drapps {

/// What a process has taken is said by one word that names it, written by one atomic operation: whoever sees the
/// process dead finds all that it had by looking for its name. The ticket makes an operation fail that was meant for
/// something that is gone. Ticket (40 bits), process (16), state (8).
struct Word {
  std::uint64_t ticket = 0;
  std::uint32_t process = 0;
  std::uint8_t state = 0;

  static constexpr Word of(std::uint64_t bits) noexcept {
    return {bits >> 24, static_cast<std::uint32_t>(bits >> 8 & 0xFFFF), static_cast<std::uint8_t>(bits & 0xFF)};
  }
  constexpr std::uint64_t bits() const noexcept {
    return ticket << 24 | static_cast<std::uint64_t>(process) << 8 | state;
  }
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace drapps
