// How much of the data's files lies in the page cache, from a sample of them.
//
// It opens files, which may block: for a thread that may wait.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "drapps/meter/reading.h"
#include "drapps/meter/residency_look.h"

namespace drapps {

struct ResidencyReadings {
  Reading resident;  // share of the bytes
};

inline constexpr std::array<ReadingInfo, kReadings<ResidencyReadings>> kResidencyInfo{{
    {"residency.resident", "share", "mincore"},
}};

class ResidencyMeter {
 public:
  static constexpr std::size_t kSample = 64;  // looks a minute, and as many as the reading is made of

  /// @param count    files that there are.
  /// @param path_of  path of a file from its index in [0, count); "" where it has none. Called in read().
  /// @param seed     with which the files to look at are drawn.
  ResidencyMeter(std::uint64_t count, std::function<std::string(std::uint64_t)> path_of, std::uint64_t seed = 0);

  /// Looks at the files that are due, four at most: called once a second it looks at 64 a minute, called less often at
  /// fewer. The reading is over the latest looks of two minutes: each file counts by its size, with the share that was
  /// seen of it. It is invalid until eight files were seen, and where more than a tenth were not told. While none is
  /// told, it looks at one a minute.
  ResidencyReadings read(std::uint64_t now_ns);

 private:
  struct Look : ResidencyLook {
    std::uint64_t time_ns = 0;
  };
  void look(std::uint64_t now_ns);
  bool is_any_seen() const noexcept;

  std::uint64_t count_;
  std::function<std::string(std::uint64_t)> path_of_;
  std::uint64_t seed_;
  std::uint64_t looks_ = 0;    // so far
  std::uint64_t next_ns_ = 0;  // when the next is due
  std::array<Look, kSample> latest_{};
};

}  // namespace drapps
