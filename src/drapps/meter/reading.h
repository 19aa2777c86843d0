// What a meter gives: numbers of the machine, each with the time at which it was read and whether it is there at all.
//
// A meter is a class with a struct of Readings as its result, read(now_ns), and a table of ReadingInfo in the order of
// that struct. Its constructor takes a root that is put before /proc/… and /sys/…: "" is this machine, tests give a
// made-up tree. A meter whose source is missing gives invalid readings: it does not fail, logs nothing, and looks for
// the source again once a minute at most. Meters have no threads and no locks: one thread at a time uses one.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace drapps {

struct Reading {
  double value = 0;           // in the unit of its ReadingInfo; 0 where it is not valid
  std::uint64_t time_ns = 0;  // of monotonic_ns(), when it was read
  bool valid = false;
};

/// Static text; one for each reading of a meter.
struct ReadingInfo {
  std::string_view name;    // "cpu.use_mean"; of its own among all meters
  std::string_view unit;    // "cores", "bytes/s", "share", …
  std::string_view source;  // the file or library that it comes from
};

inline Reading reading(double value, std::uint64_t now_ns) noexcept { return {value, now_ns, true}; }

/// How many readings a meter's struct of them has.
template <class Readings>
inline constexpr std::size_t kReadings = sizeof(Readings) / sizeof(Reading);

/// A meter's struct, which holds Readings alone, as a list in their order.
template <class Readings>
  requires(std::is_trivially_copyable_v<Readings> && sizeof(Readings) % sizeof(Reading) == 0)
std::array<Reading, kReadings<Readings>> list_of(const Readings& readings) noexcept {
  return std::bit_cast<std::array<Reading, kReadings<Readings>>>(readings);
}

}  // namespace drapps
