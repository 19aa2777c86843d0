// Pictures that a device decodes together; for picture_device.cc alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "drapps/modality/picture_device.h"

namespace drapps {

/// Pixels of a window that somebody has decoded.
struct ListedPixels {
  std::size_t at = 0;      // in the group's pinned pixels
  std::int64_t place = 0;  // bytes from AugmentArguments::kept to where they are read
  std::size_t bytes = 0;
};

struct PictureDevice::Group {
  explicit Group(MemoryLedger& ledger) : list(ledger) { waiting.reserve(kTogether); }
  void clear() noexcept {
    waiting.clear();
    augmented.clear();
    trails.clear();
    decoder->clear();
    lines = 0;
    widest = 0;
    kept = 0;
    listed.clear();
    listed_bytes = 0;
    spoilt = false;
  }

  std::unique_ptr<device::JpegDecoder> decoder;
  device::AugmentList list;  // of the pictures that are augmented
  device::Memory pixels;     // pinned: from its begin those that come back, from its end those that were listed
  device::Memory lists, lists_there;
  device::Memory rows, rows_there;
  std::unique_ptr<device::Event> ended;
  std::vector<Waiting> waiting;
  std::vector<std::size_t> augmented;  // numbers of those that are augmented, among what is waiting
  std::vector<Trail> trails;           // of the pictures that are augmented
  std::size_t unreleased = 0;
  std::int64_t lines = 0;   // of the windows that are decoded
  std::int32_t widest = 0;  // of those windows
  std::size_t kept = 0;     // bytes that augmenting them keeps
  std::vector<ListedPixels> listed;
  std::size_t listed_bytes = 0;
  bool spoilt = false;            // its list is not of what is waiting
  std::shared_ptr<void> lease;    // shared with its samples; the group is free when it goes
  std::uint64_t launched_ns = 0;  // when it was
  Status launched = ok_status();
};

}  // namespace drapps
