#include "drapps/pipeline/batch_upload.h"

#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "drapps/base/caught.h"
#include "drapps/deliver/device_room.h"
#include "drapps/device/augment_list.h"

namespace drapps {
namespace {

using device::Where;

// Who takes the batches bounds how many there are.
constexpr std::size_t kUnbounded = std::numeric_limits<std::size_t>::max() / 2;

}  // namespace

BatchUpload::BatchUpload(std::shared_ptr<DeviceRoom> room, CarryingPlan carrying) noexcept
    : room_(std::move(room)), carrying_(std::move(carrying)) {
  const PictureWriter& writer = *carrying_.part.finished.writer;
  const std::int64_t pixels = std::int64_t{writer.extent().height} * writer.extent().width;
  arguments_ = device::arguments_of(writer);
  arguments_.channel_stride = pixels;
  arguments_.row_stride = writer.extent().width;
  arguments_.pixel_stride = 1;
  arguments_.picture_channels = writer.channels();
}

Result<std::shared_ptr<BatchUpload>> BatchUpload::make(const std::string& device, const Plan& plan,
                                                       const Source& source) {
  return catching([&]() -> Result<std::shared_ptr<BatchUpload>> {
    auto carrying = plan.carrying(source);
    if (!carrying.ok()) return std::move(carrying).error();
    auto room = open_room(device, kUnbounded);
    if (!room.ok()) return std::move(room).error();
    std::shared_ptr<BatchUpload> upload(new BatchUpload(*std::move(room), *std::move(carrying)));
    DRAPPS_RETURN_IF_ERROR(upload->copy_table());
    return upload;
  });
}

Status BatchUpload::copy_table() {
  const std::vector<std::byte> table = part().finished.writer->table();
  auto pinned = device().allocate(Where::kPinned, table.size());
  if (!pinned.ok()) return std::move(pinned).error();
  auto there = device().allocate(Where::kDevice, table.size());
  if (!there.ok()) return std::move(there).error();
  auto stream = device().stream();
  if (!stream.ok()) return std::move(stream).error();
  auto copied = device().event();
  if (!copied.ok()) return std::move(copied).error();
  std::memcpy(pinned->data(), table.data(), table.size());
  DRAPPS_RETURN_IF_ERROR((*stream)->copy_in(there->data(), pinned->data(), table.size()));
  DRAPPS_RETURN_IF_ERROR((*stream)->record(**copied));
  DRAPPS_RETURN_IF_ERROR((*copied)->wait());
  table_ = *std::move(there);
  arguments_.table = table_.data();
  return ok_status();
}

}  // namespace drapps
