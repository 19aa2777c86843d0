// What a pass can tell of samples before they are read.
#pragma once

#include <cstdint>
#include <string_view>
#include <tuple>

#include "drapps/base/number.h"

namespace drapps {

/// What is known of the samples to come: those of the batches under way and of the next ones that may begin. They are
/// up to kMost per pass, of its next batch and of its last.
struct Upcoming {
  std::uint64_t samples = 0;
  std::uint64_t sized = 0;
  std::uint64_t bytes = 0;
  std::uint64_t seen = 0;
  std::uint64_t pixels = 0;
  std::uint64_t indexed = 0;

  static constexpr std::uint64_t kMost = 32;

  static constexpr auto numbers() {
    constexpr std::string_view kOrder = "order and source";
    constexpr auto kGauge = NumberKind::kGauge;
    return std::tuple(
        ListedNumber{&Upcoming::samples,
                     {"samples", "samples", kOrder, kGauge, "up to 32 of those that come next in each pass"}},
        ListedNumber{&Upcoming::sized, {"sized", "samples", kOrder, kGauge, "of which the bytes are known"}},
        ListedNumber{&Upcoming::bytes, {"bytes", "bytes", kOrder, kGauge, "of those"}},
        ListedNumber{&Upcoming::seen, {"seen", "samples", kOrder, kGauge, "of which the pixels are known"}},
        ListedNumber{&Upcoming::pixels, {"pixels", "pixels", kOrder, kGauge, "of those"}},
        ListedNumber{&Upcoming::indexed, {"indexed", "samples", kOrder, kGauge, "pictures with a whole index"}});
  }

  void add(const Upcoming& other) noexcept {
    visit_numbers([](const NumberInfo&, std::uint64_t& sum, std::uint64_t more) { sum += more; }, *this, other);
  }
};

}  // namespace drapps
