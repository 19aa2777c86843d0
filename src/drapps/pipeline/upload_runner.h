// Brings the batches of another runner to a device, which finishes their pictures: what is copied are bytes, and what
// normalises, casts, lays out, erases and mixes them are kernels.
//
// 1. The other runner makes batches of BatchUpload::plan() in pinned memory, of which this one takes those that have
//    landed: the one that was asked for, and kAhead behind it. The consumer's thread asks for copies and launches, in a
//    stream of their own, and waits for none of them. Rows that a device has finished stay there (Slot::rows_there),
//    and are not copied.
// 2. A batch is given out before the device has made it, as resident_runner.h has it. Its memory on the host is filled
//    again when the copies have ended.
// 3. Where the device has no memory for a batch whose turn it is, that is an error, and the next call tries again.
//
// Which rows, and their bytes, are those of the plan that the user described.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "drapps/augment/picture/trail.h"
#include "drapps/deliver/device_room.h"
#include "drapps/device/augment_list.h"
#include "drapps/device/device.h"
#include "drapps/device/metered_stream.h"
#include "drapps/pipeline/batch_upload.h"
#include "drapps/pipeline/prepare.h"
#include "drapps/pipeline/runner.h"

namespace drapps {

class UploadRunner final : public Runner {
 public:
  static constexpr std::size_t kAhead = 2;  // batches on the device that nobody has asked for

  /// Requires parts.upload, and that parts.plan is what that was made of. kResourceExhausted where the device has no
  /// memory for two batches.
  static Result<std::unique_ptr<UploadRunner>> make(const RunnerParts& parts);
  ~UploadRunner() override;

  std::optional<Next> next(std::chrono::milliseconds patience) override;
  void apply(const Settings& settings) override { carrier_->apply(settings); }
  const Metrics& metrics() const noexcept override { return carrier_->metrics(); }
  device::DeviceCounters& device_counters() noexcept override { return carrier_->device_counters(); }
  /// The one by which batches are made on the host, in whose memory they are then.
  const Plan& plan() const noexcept override { return carrier_->plan(); }
  std::shared_ptr<SlotArena> arena() const noexcept override { return carrier_->arena(); }
  std::uint32_t ready_batches() const override { return carrier_->ready_batches() + under_way_; }
  bool ready() const override { return under_way_ > 0 || carrier_->ready(); }
  Upcoming upcoming() const override { return carrier_->upcoming(); }
  std::uint64_t position() const override { return position_; }
  std::uint64_t left() const override { return carrier_->left() + under_way_; }
  std::vector<Error> bad_samples() const override { return carrier_->bad_samples(); }
  std::vector<Error> take_bad_samples() noexcept override { return carrier_->take_bad_samples(); }

 private:
  /// What is copied for one batch beside its columns, and what holds those meanwhile.
  struct UploadMemory {
    explicit UploadMemory(const std::shared_ptr<DeviceRoom>& room) noexcept
        : pinned(room, device::Where::kPinned),
          lists(room, device::Where::kDevice),
          pictures(room, device::Where::kDevice) {}

    RoomMemory pinned, lists;
    RoomMemory pictures;                    // of those that the host has made
    std::unique_ptr<device::Event> copied;  // behind all that uses them
    HeldSlot carried;
  };
  /// A batch on the device; or the error in its place.
  struct UploadedBatch {
    Slot* slot = nullptr;
    std::uint32_t rows = 0;
    std::uint64_t step = 0;
    std::uint64_t position = 0;
    std::optional<Error> error;
  };

  UploadRunner(const RunnerParts& parts, std::shared_ptr<SlotArena> arena);

  bool take(std::chrono::milliseconds patience, bool& finished);
  Status begin_landed();
  void begin_ahead();
  Status begin(const Batch& batch, Slot& slot);
  Status copy(const Batch& batch, std::byte* slot, UploadMemory& work);
  Status list_pictures(const Batch& batch, UploadMemory& work);
  Status mix(const Batch& batch, std::byte* slot);
  void forget_carried() noexcept;
  void count() noexcept { under_way_ = static_cast<std::uint32_t>(uploaded_.size()) + (landed_ ? 1 : 0); }

  const std::shared_ptr<const Plan> plan_;
  const std::shared_ptr<BatchUpload> upload_;
  const Sampler sampler_;
  const Preparer preparer_;
  const std::shared_ptr<SlotArena> arena_;  // on the device
  const std::size_t ahead_;
  device::AugmentList list_;
  Trail trail_;
  std::unique_ptr<Runner> carrier_;
  std::vector<std::unique_ptr<UploadMemory>> works_;
  std::size_t next_work_ = 0;
  std::optional<Batch> landed_;  // on the host, in its turn
  std::deque<UploadedBatch> uploaded_;
  std::atomic<std::uint32_t> under_way_ = 0;  // of both
  std::atomic<std::uint64_t> position_ = 0;
  std::unique_ptr<device::MeteredStream> stream_;  // last: its end waits for what uses the above
};

}  // namespace drapps
