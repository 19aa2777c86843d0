// Pictures of so many pixels that Pillow warns of them.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

namespace drapps {

/// Of a pass, until somebody is told of them. Every member may be called from any thread.
class LargePictures {
 public:
  /// The picture of the sample at a position of the epoch has so many pixels. Where there is no memory for it, nobody
  /// is told.
  void add(std::uint64_t position, std::uint64_t pixels) noexcept;

  /// Pixels of each that stands before a position and was not taken yet, in their order.
  std::vector<std::uint64_t> take(std::uint64_t before);

 private:
  struct Entry {
    std::uint64_t position, pixels;
  };

  std::atomic<bool> any_{false};  // for who finds none, which is nearly always
  std::mutex mutex_;              // guards all below
  std::vector<Entry> entries_;
};

}  // namespace drapps
