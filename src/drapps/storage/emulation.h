// How a storage would behave that this machine does not have.
//
// 1. Bandwidth is a token bucket, and so are requests per second, beyond which requests are refused. Both lie in memory
//    that processes share, so threads and worker processes draw on the same ones, and whoever is killed takes nothing
//    away but what it had booked.
// 2. A read ends when its latency is over, its connection has carried its bytes, there are tokens for them, and no
//    outage is under way. Latencies are log-normal, by their median.
// 3. Conditions follow a schedule, from the moment at which the emulation was made; it may begin again after a period.
//    An outage is a part of it in which requests are refused, or stall.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "drapps/base/result.h"
#include "drapps/shm/file.h"
#include "drapps/shm/token_bucket.h"

namespace drapps {

/// How the storage behaves at a moment. In each number, 0 is no limit.
struct EmulatedConditions {
  double bandwidth = 0;             // bytes per second, of all reads together
  double connection_bandwidth = 0;  // bytes per second, of one read
  double latency = 0;               // seconds, the median
  double latency_spread = 0;        // standard deviation of the latency's logarithm
  double requests_per_second = 0;   // beyond which requests are refused
  bool refuses = false;             // every request
  bool stalls = false;              // no read ends
};

struct EmulationSpec {
  struct ConditionChange {
    double at = 0;  // seconds since the beginning, or since that of the period
    EmulatedConditions conditions;
  };
  std::vector<ConditionChange> schedule;  // in the order of time; the first at 0
  double period = 0;                      // seconds after which the schedule begins again; 0: never
  double burst = 0.02;                    // seconds of bandwidth, and of requests, that a pause earns
  std::uint64_t seed = 0;                 // of the latencies

  /// kInvalidArgument names what makes no sense.
  Status check() const;
};

inline constexpr std::uint64_t kForever = ~std::uint64_t{0};

/// How a read ends.
struct ReadEnd {
  std::uint64_t at_ns = 0;
  bool given_up = false;  // it stalls, and whoever reads has lost patience
};

/// Every member may be called from any thread.
class Emulation {
 public:
  /// A new emulation, which begins now. kInvalidArgument, and kResourceExhausted without memory to share.
  static Result<Emulation> make(EmulationSpec spec);
  /// The emulation that `fd` refers to, made of the same description in any process. `fd` stays the caller's, and need
  /// not stay open. kInvalidArgument for a descriptor of something else.
  static Result<Emulation> attach(EmulationSpec spec, int fd);

  int fd() const noexcept { return file_.fd(); }
  const EmulationSpec& spec() const noexcept { return spec_; }
  const EmulatedConditions& conditions(std::uint64_t now_ns) const noexcept;

  /// Whether a request is let in now.
  bool admits(std::uint64_t now_ns) noexcept;
  /// When a read that was let in now ends. CLOCK_MONOTONIC, as all moments here.
  /// @param patience_until_ns  when who reads gives up a read that stalls.
  ReadEnd end_of(std::uint64_t bytes, std::uint64_t now_ns, std::uint64_t patience_until_ns = kForever) noexcept;

 private:
  struct SharedEmulation {
    std::uint64_t magic;
    std::uint64_t begun_ns;
    TokenBucket bytes;
    TokenBucket requests;
    std::atomic<std::uint64_t> draws;
  };

  Emulation(EmulationSpec spec, SharedFile file, Mapping mapping) noexcept
      : spec_(std::move(spec)), file_(std::move(file)), mapping_(std::move(mapping)) {}
  SharedEmulation& shared() const noexcept { return *reinterpret_cast<SharedEmulation*>(mapping_.data()); }
  std::size_t place_at(std::uint64_t now_ns, std::uint64_t& next_ns) const noexcept;
  std::uint64_t burst_ns() const noexcept { return static_cast<std::uint64_t>(spec_.burst * 1e9); }

  EmulationSpec spec_;
  SharedFile file_;
  Mapping mapping_;
};

}  // namespace drapps
