// What a storage has done: counts that only rise, but for the reads that are under way.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>
#include <tuple>

#include "drapps/base/histogram.h"
#include "drapps/base/number.h"

namespace drapps {

/// The storage that records come from, as this process has used it.
template <class Count, class Level, class Distribution>
struct StorageNumbers {
  Count bytes{0};
  Count failures{0};
  Count refusals{0};
  Count retries{0};
  Level in_flight{0};
  Distribution at_once;
  Distribution waited;

  static constexpr auto numbers() {
    using Self = StorageNumbers;
    constexpr std::string_view kMeter = "storage meter";
    constexpr auto kCounter = NumberKind::kCounter;
    return std::tuple(
        ListedNumber{&Self::bytes, {"bytes", "bytes", kMeter, kCounter, "of records that were read"}},
        ListedNumber{&Self::failures, {"failures", "reads", kMeter, kCounter, "that ended in an error"}},
        ListedNumber{&Self::refusals, {"refusals", "reads", kMeter, kCounter, "that were refused for the moment"}},
        ListedNumber{&Self::retries, {"retries", "reads", kMeter, kCounter, "that were tried again"}},
        ListedNumber{&Self::in_flight, {"in_flight", "reads", kMeter, NumberKind::kGauge, "under way"}},
        ListedNumber{&Self::at_once,
                     {"at_once", "ns", kMeter, NumberKind::kGauge, "of reads that did not have to wait"}},
        ListedNumber{&Self::waited, {"waited", "ns", kMeter, NumberKind::kGauge, "of the others"}});
  }
};

/// What a meter stood at when it was read. What happened a moment ago may be missing, as it may in a histogram, and
/// what was counted once is never taken back.
using StorageCounts = StorageNumbers<std::uint64_t, std::int64_t, HistogramCounts>;

/// The counts of all readers of one storage in this process. Written by any thread without a lock.
struct StorageMeter : StorageNumbers<std::atomic<std::uint64_t>, std::atomic<std::int64_t>, Histogram> {
  StorageCounts counts() const noexcept {
    StorageCounts now;
    visit_numbers(
        []<class Counted>(const NumberInfo&, auto& count, const Counted& counted) {
          if constexpr (std::is_same_v<Counted, Histogram>) {
            count = counted.counts();
          } else {
            count = counted.load(std::memory_order_relaxed);
          }
        },
        now, *this);
    return now;
  }
};

}  // namespace drapps
