#include "drapps/pipeline/residence.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <utility>

#include "drapps/base/caught.h"
#include "drapps/data/image.h"
#include "drapps/deliver/device_room.h"
#include "drapps/device/aligned.h"
#include "drapps/device/augment_list.h"
#include "drapps/kernel/pixels.h"
#include "drapps/source/array.h"

namespace drapps {
namespace {

using device::Memory;
using device::Stream;
using device::Where;

constexpr std::size_t kUploadBytes = std::size_t{8} << 20;  // of pinned memory, for some time
constexpr std::size_t kLeastBatches = 2;                    // one that is used, and one that is made

std::size_t picture_bytes(const PictureArray& pictures) noexcept {
  const auto [height, width] = pictures.layout.extent;
  return static_cast<std::size_t>(pictures.layout.channels) * static_cast<std::size_t>(height) *
         static_cast<std::size_t>(width);
}

Error not_there(ErrorCode code, const std::string& why) {
  return {.code = code, .stage = Stage::kSetup, .message = "device_memory= cannot be used: " + why};
}

/// About what the device's memory takes of what a batch is made from, at the most: by the first one, as crops differ.
std::size_t list_bytes(const Plan& plan, const Source& source) {
  const std::uint32_t rows = plan.spec.sampler.batch;
  device::AugmentList list(MemoryLedger::unlimited());
  Scratch scratch(MemoryLedger::unlimited());
  Trail trail;
  for (std::uint32_t i = 0; pictures_of(source) != nullptr && i < rows; ++i) {
    trail.clear();
    const PartDraws draws({.position = i}, 0);
    if (!plan.parts.front()->note_trail(draws, scratch, trail).ok()) break;
    if (!list.add(0, 0, trail, Dtype::kFloat32).ok()) break;
  }
  return 2 * (device::aligned(rows * sizeof(std::uint64_t)) + list.device_bytes());
}

/// Copies `rows` rows of `bytes` one after another to the device, through pinned memory. `read` writes some rows there.
Status upload(device::Device& device, Stream& stream, std::byte* to, std::uint64_t rows, std::size_t bytes,
              const std::function<Status(std::byte* out, std::uint64_t first, std::uint64_t count)>& read) {
  const std::uint64_t most = std::max<std::uint64_t>(kUploadBytes / std::max<std::size_t>(bytes, 1), 1);
  auto pinned = device.allocate(Where::kPinned, std::min(most, rows) * bytes);
  if (!pinned.ok()) return std::move(pinned).error();
  auto copied = device.event();
  if (!copied.ok()) return std::move(copied).error();
  for (std::uint64_t first = 0; first < rows; first += most) {
    const std::uint64_t count = std::min(most, rows - first);
    DRAPPS_RETURN_IF_ERROR(read(pinned->data(), first, count));
    DRAPPS_RETURN_IF_ERROR(stream.copy_in(to + first * bytes, pinned->data(), count * bytes));
    DRAPPS_RETURN_IF_ERROR(stream.record(**copied));
    DRAPPS_RETURN_IF_ERROR((*copied)->wait());
  }
  return ok_status();
}

/// Bytes that are copied at a time: rows of `bytes` lie one after another, in memory that is aligned to more.
std::int32_t unit_of(std::size_t bytes) noexcept {
  return static_cast<std::int32_t>(std::gcd(std::max<std::size_t>(bytes, 1), std::size_t{8}));
}

}  // namespace

Status Residence::check(const Plan& plan, const Source& source, std::size_t memory_bytes) {
  if (source.rows() == nullptr) {
    return not_there(ErrorCode::kUnsupported, "it is for arrays, and these records lie in files; leave it out");
  }
  for (const auto& part : plan.parts) {
    if (auto there = part->on_device(); !there.ok()) {
      return not_there(ErrorCode::kUnsupported, there.error().message + "; leave it out");
    }
  }
  for (const ColumnWriter& writer : plan.writers) {
    const bool pictures = !plan.parts.empty() && plan.parts.front()->on_device()->column == writer.column;
    if (!pictures) {
      return not_there(ErrorCode::kUnsupported, "only the CPU makes the column \"" +
                                                    plan.layout.columns()[writer.column].name + "\"; leave it out");
    }
  }
  std::size_t bytes = kLeastBatches * (plan.layout.bytes() + list_bytes(plan, source));
  for (const Array& array : source.rows()->arrays()) bytes += array.rows * array.row_bytes();
  if (const PictureArray* pictures = pictures_of(source)) bytes += pictures->rows * picture_bytes(*pictures);
  if (bytes <= memory_bytes) return ok_status();
  return not_there(ErrorCode::kTooLarge, "the arrays and " + std::to_string(kLeastBatches) + " batches take " +
                                             std::to_string(bytes) + " bytes, and it gives " +
                                             std::to_string(memory_bytes) + "; raise it, or leave it out");
}

Result<std::shared_ptr<Residence>> Residence::make(const DeviceChoice& choice, const Plan& plan, const Source& source) {
  return catching([&]() -> Result<std::shared_ptr<Residence>> {
    DRAPPS_RETURN_IF_ERROR(check(plan, source, choice.memory_bytes));
    auto room = open_room(choice.device, choice.memory_bytes);
    if (!room.ok()) return std::move(room).error();
    std::shared_ptr<Residence> residence(new Residence(*std::move(room)));
    auto stream = residence->device().stream();
    if (!stream.ok()) return std::move(stream).error();
    DRAPPS_RETURN_IF_ERROR(residence->add_pictures(plan, source, **stream));
    for (const ColumnGatherer& column : plan.gatherers) {
      if (column.array != nullptr) DRAPPS_RETURN_IF_ERROR(residence->add_array(column, **stream));
    }
    return residence;
  });
}

Result<Memory> Residence::allocate(std::size_t bytes) {
  if (!room_->ledger.try_reserve(bytes)) {
    return not_there(ErrorCode::kResourceExhausted, "it has no " + std::to_string(bytes) + " bytes left; raise it");
  }
  return device().allocate(Where::kDevice, bytes);  // what was reserved stays so until all of this goes
}

Status Residence::add_pictures(const Plan& plan, const Source& source, Stream& stream) {
  const PictureArray* const all = pictures_of(source);
  if (all == nullptr) return ok_status();
  auto part = plan.parts.front()->on_device();
  if (!part.ok()) return std::move(part).error();
  const std::size_t bytes = picture_bytes(*all);
  auto memory = allocate(all->rows * bytes);
  if (!memory.ok()) return std::move(memory).error();
  ImageBuffer planes(MemoryLedger::unlimited());
  DRAPPS_RETURN_IF_ERROR(upload(device(), stream, memory->data(), all->rows, bytes,
                                [&](std::byte* out, std::uint64_t first, std::uint64_t count) -> Status {
                                  for (std::uint64_t row = first; row < first + count; ++row) {
                                    auto line = kernel::lines_of(all->layout, {all->row(row), all->end()}, planes);
                                    if (!line.ok()) return std::move(line).error();
                                    for (std::int32_t c = 0; c < line->channels; ++c) {
                                      std::memcpy(out, line->row(c, 0), static_cast<std::size_t>(line->width));
                                      out += line->width;
                                    }
                                  }
                                  return ok_status();
                                }));
  const std::vector<std::byte> table = part->writer->table();
  auto numbers = device().allocate(Where::kDevice, table.size());  // some KiB, which nobody accounts for
  if (!numbers.ok()) return std::move(numbers).error();
  DRAPPS_RETURN_IF_ERROR(
      upload(device(), stream, numbers->data(), 1, table.size(), [&](std::byte* out, std::uint64_t, std::uint64_t) {
        std::memcpy(out, table.data(), table.size());
        return ok_status();
      }));
  const std::int64_t width = all->layout.extent.width;
  device::AugmentArguments arguments = device::arguments_of(*part->writer);
  arguments.pictures = reinterpret_cast<const std::uint8_t*>(memory->data());
  arguments.channel_stride = width * all->layout.extent.height;
  arguments.row_stride = width;
  arguments.pixel_stride = 1;
  arguments.picture_channels = all->layout.channels;
  arguments.table = numbers->data();
  pictures_ = PictureColumn{.picture_bytes = static_cast<std::int64_t>(bytes), .arguments = arguments, .part = *part};
  memory_.push_back(*std::move(memory));
  memory_.push_back(*std::move(numbers));
  return ok_status();
}

Status Residence::add_array(const ColumnGatherer& column, Stream& stream) {
  const Array& array = *column.array;
  const std::size_t bytes = array.row_bytes();
  auto memory = allocate(array.rows * bytes);
  if (!memory.ok()) return std::move(memory).error();
  DRAPPS_RETURN_IF_ERROR(upload(device(), stream, memory->data(), array.rows, bytes,
                                [&](std::byte* out, std::uint64_t first, std::uint64_t count) {
                                  for (std::uint64_t row = first; row < first + count; ++row, out += bytes) {
                                    std::memcpy(out, array.data + static_cast<std::ptrdiff_t>(row) * array.stride,
                                                bytes);
                                  }
                                  return ok_status();
                                }));
  gathers_.push_back({column.column,
                      {.in = reinterpret_cast<const std::uint8_t*>(memory->data()),
                       .stride = static_cast<std::int64_t>(bytes),
                       .row_bytes = static_cast<std::int64_t>(bytes),
                       .unit = unit_of(bytes)}});
  memory_.push_back(*std::move(memory));
  return ok_status();
}

}  // namespace drapps
