// What goes over the network interfaces of this process's network namespace, whoever sends it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "drapps/meter/rate.h"
#include "drapps/meter/reading.h"
#include "drapps/meter/system_file.h"

namespace drapps {

/// Sums over all interfaces but lo. What goes through a bridge or a bond is counted at each of them.
struct NetworkReadings {
  Reading received;
  Reading sent;
  Reading errors;  // packets, both ways
  Reading drops;
};

inline constexpr std::array<ReadingInfo, kReadings<NetworkReadings>> kNetworkInfo{{
    {"network.received", "bytes/s", "/proc/net/dev"},
    {"network.sent", "bytes/s", "/proc/net/dev"},
    {"network.errors", "1/s", "/proc/net/dev"},
    {"network.drops", "1/s", "/proc/net/dev"},
}};

struct InterfaceReadings {
  std::string name;
  NetworkReadings rates;
};

class NetworkMeter {
 public:
  explicit NetworkMeter(const std::string& root = "");
  NetworkReadings read(std::uint64_t now_ns);

  /// The interfaces as of the last read().
  const std::vector<InterfaceReadings>& interfaces() const noexcept { return interfaces_; }

 private:
  struct NetworkRates {
    Rate received{}, sent{}, errors{}, drops{};
  };

  SystemFile devices_;
  std::map<std::string, NetworkRates> known_{};
  std::vector<InterfaceReadings> interfaces_{};
};

}  // namespace drapps
