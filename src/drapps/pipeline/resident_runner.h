// Runs a plan over arrays that live on a device: what the host does for a batch is to draw its samples and to ask for
// copies of some KiB and a few launches.
//
// 1. The consumer's thread does that, when it asks for a batch and before it goes with one: prefetch_depth batches are
//    under way on the device, in a stream of their own. No worker has anything to do.
// 2. A batch may be given out before the device has made it: its user's stream waits for that (Slot::completion), and
//    the host does not.
// 3. What the host writes for a batch (row numbers, moves, the columns that say where rows are from) stands in pinned
//    memory that is the batch's until it has been made.
//
// Which rows, and their bytes, are those of the other runners.
#pragma once

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
#include "drapps/pipeline/residence.h"
#include "drapps/pipeline/window_runner.h"

namespace drapps {

class ResidentRunner final : public WindowRunner {
 public:
  /// Requires parts.arena, on the device of parts.residence.
  static Result<std::unique_ptr<ResidentRunner>> make(const RunnerParts& parts);

  void apply(const Settings& settings) override;
  WorkFound run_one() noexcept override { return WorkFound::kNothing; }

 private:
  /// Offsets in a batch's memory of row numbers, the list of pictures, and the columns that the host fills.
  struct RunnerPlaces {
    std::size_t list, columns, host_bytes, device_bytes;
  };
  /// What the host writes for one batch, and its copy on the device.
  struct RunnerMemory {
    explicit RunnerMemory(const std::shared_ptr<DeviceRoom>& room) noexcept
        : pinned(room, device::Where::kPinned), there(room, device::Where::kDevice) {}

    Status grow(const RunnerPlaces& places);

    RoomMemory pinned, there;
    std::unique_ptr<device::Event> completion;  // behind all that uses them
  };
  /// A batch under way.
  struct PendingBatch {
    std::uint64_t step;
    const Slot* slot;
    std::optional<Error> error;
  };

  explicit ResidentRunner(const RunnerParts& parts);

  bool help(Lock& lock) override;
  void free_memory() noexcept override {}
  void taken(Lock& lock) override { begin_batches(lock); }

  /// Begins as many batches as may be under way. The mutex is held before and after.
  void begin_batches(Lock& lock);
  Status reserve_works();
  Status begin(std::uint64_t step, std::uint32_t rows, Slot& slot);
  Status write(std::uint64_t step, std::uint32_t rows, std::byte* slot, RunnerMemory& work);
  bool by_host(const ColumnGatherer& column) const noexcept;
  Status copy_columns(const RowRun& run, std::byte* slot, std::byte* at);
  Status launch(std::uint32_t rows, std::byte* slot, const std::byte* there, device::AugmentArguments& augment);
  Status mix(std::uint64_t step, std::uint32_t rows, std::byte* slot);
  Result<RunnerPlaces> note_batch(std::uint64_t step, std::uint32_t rows);
  Status note_pictures(std::uint64_t first_position, std::uint32_t rows);

  const std::shared_ptr<Residence> residence_;
  std::vector<std::unique_ptr<RunnerMemory>> works_;  // of step s: number s modulo their count
  device::AugmentList list_;
  Trail trail_;
  Scratch scratch_;
  Workspace workspace_;
  std::vector<std::uint64_t> records_, rows_;
  std::unique_ptr<device::MeteredStream> stream_;  // last: its end waits for what uses the above

  // The mutex guards all below.
  std::uint64_t next_step_ = 0;  // that is begun next
  std::deque<PendingBatch> pending_;
};

}  // namespace drapps
