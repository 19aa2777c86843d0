// Pictures that a device decodes together; for picture_device.cc alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "drapps/modality/picture_device.h"

namespace drapps {

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
    spoilt = false;
  }

  std::unique_ptr<device::JpegDecoder> decoder;
  device::AugmentList list;  // of the pictures that are augmented
  device::Memory pixels;     // pinned, as far as they come back
  device::Memory lists, lists_there;
  device::Memory rows, rows_there;
  std::unique_ptr<device::Event> ended;
  std::vector<Waiting> waiting;        // by their numbers in the decoder
  std::vector<std::size_t> augmented;  // numbers of the pictures that are augmented
  std::vector<Trail> trails;           // of the pictures that are augmented
  std::size_t unreleased = 0;
  std::int64_t lines = 0;         // of all windows
  std::int32_t widest = 0;        // of the windows
  std::size_t kept = 0;           // bytes that augmenting them keeps
  bool spoilt = false;            // its list is not of what is waiting
  std::shared_ptr<void> lease;    // shared with its samples; the group is free when it goes
  std::uint64_t launched_ns = 0;  // when it was
  Status launched = ok_status();
};

}  // namespace drapps
