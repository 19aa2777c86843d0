// Samples that a device decodes: some of them together and later, while the workers do something else.
//
//   part->decode_late(sample, draws, decoder, sink, augment)   // the sample is listed, or false: it is for the CPU
//   decoder.release(sample)                                    // now it is the decoder's
//   sink.late_decoded(sample)                                  // it goes on, and decode() finds Sample::late
//
// Nothing of it shows in what is made: a sample that a device could not decode comes back without Sample::late, and
// decode() does all of it, with the CPU's verdict.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "drapps/device/metered_stream.h"
#include "drapps/modality/modality.h"

namespace drapps {

/// Hears of samples that were decoded late.
class LateSink {
 public:
  virtual ~LateSink() = default;
  /// Once per released sample, from the decoder's thread. The sample is the sink's again.
  virtual void late_decoded(Sample& sample) noexcept = 0;
};

/// What a decoder has done so far.
struct LateCounts {
  std::uint64_t decoded = 0;     // samples that came back with what was asked for
  std::uint64_t from_cache = 0;  // the same, of samples that the cache had decoded
  std::uint64_t augmented = 0;   // of both, those with finished rows
  std::uint64_t stayed = 0;      // of these, those whose rows stayed on the device
  std::uint64_t returned = 0;    // samples that came back for the CPU
  std::uint64_t launches = 0;    // of some samples together
  std::uint64_t busy_ns = 0;     // from each launch to its end
  device::DeviceCounts device;

  std::uint64_t samples() const noexcept { return decoded + from_cache + returned; }
};

/// For one part of a plan, and all passes of a loader at once. All members may be called from any thread.
class LateStage {
 public:
  virtual ~LateStage() = default;
  /// Samples that it may have at once.
  virtual std::size_t most() const noexcept = 0;
  /// Whether it also augments, and gives finished rows.
  bool augments() const noexcept { return why_not_augmented().empty(); }
  /// The device, with the memory of it that finished rows may stay in; null where they always come back.
  virtual std::shared_ptr<DeviceRoom> room() const noexcept { return nullptr; }
  /// Why it does not augment; else empty.
  virtual const std::string& why_not_augmented() const noexcept = 0;
  /// To be called once for each sample that decode_late() listed; no sample of the same launch begins before.
  virtual void release(Sample& sample) noexcept = 0;
  virtual LateCounts counts() const noexcept = 0;
  /// Why it decodes nothing any more, once; else empty.
  virtual std::string take_warning() = 0;
};

}  // namespace drapps
