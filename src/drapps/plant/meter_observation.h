// What an observation has of the machine: readings of the meters as whole numbers, so that they are short in a trace,
// and which of them are there.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "drapps/meter/machine_readings.h"

namespace drapps {

/// The number of masks, of 64 readings each.
inline constexpr std::size_t kMeterMasks = (kMachineReadings + 63) / 64;

/// A unit in which readings of another unit are whole numbers that are fine enough.
struct WholeUnit {
  std::string_view unit;
  double per_unit = 1;  // so many make one of the reading's unit
};
WholeUnit whole_unit(std::string_view unit) noexcept;

/// Readings by the places of machine_info().
struct MeterObservation {
  std::array<std::uint64_t, kMachineReadings> values{};  // in whole_unit(); 0 where not valid
  std::array<std::uint64_t, kMeterMasks> valid{};        // a bit each, the first the lowest

  bool has(std::size_t place) const noexcept { return (valid[place / 64] >> place % 64 & 1) != 0; }
  /// The value in the unit of the reading; 0 where it is not valid.
  double value(std::size_t place) const noexcept;
};

/// Readings that are older than 10 s count as invalid: who gives them has got stuck.
MeterObservation observation_of(const MachineReadings& readings, std::uint64_t now_ns) noexcept;

}  // namespace drapps
