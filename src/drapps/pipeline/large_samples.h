// Samples of so much work that users are told of them.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

namespace drapps {

/// The large samples of a pass, until somebody is told of them. Every member may be called from any thread.
class LargeSamples {
 public:
  /// The sample at a position of the epoch takes so many units of work. Where there is no memory for it, nobody is
  /// told.
  void add(std::uint64_t position, std::uint64_t units) noexcept;

  /// Units of each that stands before a position and was not taken yet, in their order.
  std::vector<std::uint64_t> take(std::uint64_t before);

 private:
  struct Large {
    std::uint64_t position, units;
  };

  std::atomic<bool> any_{false};  // for who finds none, which is nearly always
  std::mutex mutex_;              // guards all below
  std::vector<Large> samples_;
};

}  // namespace drapps
