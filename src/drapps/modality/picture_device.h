// Pictures that a device decodes, and augments where it can: groups of them, one on the device at a time.
//
// 1. A worker lists a picture with the open group, which copies its bytes into pinned memory, or its pixels, where it
//    was decoded before. A group that has no room for a picture is closed, and the next free one opens.
// 2. A thread launches a group as soon as the device has none: what has been listed until then goes together, so that
//    groups are as small as the device is idle, and as large as it is busy.
// 3. When a group has ended, the next one is launched, then the samples of the first go back. Their pixels or rows stay
//    in the group's pinned memory until the last of them has no more use for it; then the group is free.
//
// Where there is no memory for groups of kTogether, they are smaller, down to an eighth.
//
// An error of the device is told once, and from then on every picture is the CPU's. The memory of groups that were
// under way then is not used again.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "drapps/augment/picture/trail.h"
#include "drapps/batch/row.h"
#include "drapps/deliver/slot_arena.h"
#include "drapps/device/augment_list.h"
#include "drapps/device/jpeg_decoder.h"
#include "drapps/device/metered_stream.h"
#include "drapps/exec/service_thread.h"
#include "drapps/modality/late_stage.h"

namespace drapps {

/// A picture for a device: of a file that was read and looked at, or pixels that somebody has decoded.
struct LateRequest {
  Extent extent;  // of the whole picture
  Rect window;
  const Trail* trail = nullptr;  // of all ops, where it is to be augmented, as pixels always are
  std::span<const std::uint8_t> bytes = {};
  const ImageInfo* info = nullptr;         // of the file
  const jpeg::IndexUse* index = nullptr;   // of the file
  const ConstImageView* pixels = nullptr;  // of the window; null for a file
  std::byte* row_there = nullptr;          // where on the device its row stays, where it is augmented; or null
};

class PictureDevice final : public LateStage {
  struct Group;

 public:
  static constexpr std::size_t kTogether = 64;  // pictures in a group at most
  static constexpr std::size_t kGroups = 3;     // listing, on the device, and in use by workers

  /// What came back of a picture; Sample::late points to it.
  struct Late {
    Extent extent;                         // of the whole picture
    Rect window;                           // that the first op reads
    const std::uint8_t* pixels = nullptr;  // of the window, interleaved, rows `row_bytes` apart; or null
    std::int64_t row_bytes = 0;
    std::size_t bytes = 0;                 // that may be read from `pixels` on
    const std::byte* row = nullptr;        // its finished row of the batch, where it was augmented; or null
    const std::byte* row_there = nullptr;  // the same, where it stays on the device

    bool augmented() const noexcept { return row != nullptr || row_there != nullptr; }

   private:
    friend class PictureDevice;
    Group* group_ = nullptr;
  };

  /// kResourceExhausted where device, ledger or system have not that much memory, and other errors of the device.
  /// @param host      what pinned memory counts in; outlives the decoder.
  /// @param channels  1 or 3.
  /// @param writer    of the rows, which the device makes; outlives it. Or why it makes none.
  /// @param keeps     whether what makes them keeps pictures between its launches (device/augment_list.h).
  static Result<std::shared_ptr<PictureDevice>> make(const std::shared_ptr<DeviceRoom>& room, MemoryLedger& host,
                                                     std::int32_t channels, const Result<const PictureWriter*>& writer,
                                                     bool keeps = false);
  ~PictureDevice() override;

  /// As PartPlan::decode_late().
  bool list(Sample& sample, const LateRequest& request, LateSink& sink) noexcept;

  /// Whether the rows that it makes are this writer's.
  bool writes(const PictureWriter& writer) const noexcept { return writer_ == &writer; }

  /// The most bytes that it keeps of one picture that it augments.
  std::size_t most_kept() const noexcept { return sizes_.kept; }

  std::size_t most() const noexcept override { return kGroups * sizes_.together; }
  std::shared_ptr<DeviceRoom> room() const noexcept override { return room_; }
  const std::string& why_not_augmented() const noexcept override { return why_not_augmented_; }
  void release(Sample& sample) noexcept override;
  LateCounts counts() const noexcept override;
  std::string take_warning() override;

 private:
  struct Waiting {
    Sample* sample;
    LateSink* sink;
    Late late;
    std::optional<std::size_t> number;  // in the decoder; or its pixels were listed
  };
  /// Sizes of each group.
  struct Sizes {
    std::size_t together = 0;  // pictures at most
    device::JpegBounds jpeg;
    std::size_t pixels = 0;  // bytes of those on their way back, and of those that were listed
    std::size_t lists = 0;   // bytes of ops, on either side
    std::size_t rows = 0;    // bytes of rows, on either side
    std::size_t kept = 0;    // bytes of the device, of pictures that are resized once more

    /// Bytes of the device behind and with its lists: what is kept, and pixels that were listed.
    std::size_t lists_there(const PictureWriter* writer) const noexcept;
    static Sizes part(std::size_t divisor, const PictureWriter* writer, bool keeps) noexcept;
  };
  /// Bytes of a ledger, given back when it goes.
  struct Reserved {
    Reserved(MemoryLedger& from, std::size_t bytes) noexcept;
    ~Reserved();
    Reserved(const Reserved&) = delete;
    Reserved& operator=(const Reserved&) = delete;

    MemoryLedger& ledger;
    const std::size_t bytes;
    const bool good;
  };

  PictureDevice(std::shared_ptr<DeviceRoom> room, MemoryLedger& host, std::int32_t channels,
                const PictureWriter* writer, std::string why_not_augmented, const Sizes& sizes);
  Status start();
  Status add_group();

  // All of these require mutex_.
  Group* open_group();
  void close_group();
  bool has_room(const Group& group, const LateRequest& request) const noexcept;
  bool add(Group& group, Sample& sample, const LateRequest& request, LateSink& sink, bool& full);
  std::size_t pixel_bytes(const Group& group, const LateRequest& request) const noexcept;
  void list_pixels(Group& group, const LateRequest& request) const;
  Group* next() noexcept;

  // What the thread does, without holding mutex_.
  void run(const std::stop_token& stop);
  Status launch(Group& group);
  Status copy_table();
  Status copy_back(Group& group);
  Status augment(Group& group);
  Status list_augmented(Group& group, std::size_t& rows_back);
  void deliver(Group& group, const Status& status);
  void lose(const Error& error);
  void recycle(Group& group) noexcept;

  const std::shared_ptr<DeviceRoom> room_;
  MemoryLedger& host_;
  const std::int32_t channels_;
  const PictureWriter* const writer_;  // null: rows are made elsewhere
  const std::string why_not_augmented_;
  const Sizes sizes_;
  Reserved pinned_, there_;
  std::vector<std::unique_ptr<Group>> groups_;
  device::Memory table_;  // what each byte becomes in a row, on the device
  device::Memory table_on_host_;
  device::DeviceCounters counters_;
  std::unique_ptr<device::MeteredStream> stream_;

  mutable std::mutex mutex_;  // guards all below, and what is listed of groups that are not launched
  std::condition_variable_any more_;
  std::vector<Group*> free_;
  Group* open_ = nullptr;
  std::vector<Group*> closed_;  // in the order in which they were
  bool lost_ = false;
  std::string warning_;
  LateCounts counts_;

  ServiceThread thread_;  // last: it uses all above
};

}  // namespace drapps
