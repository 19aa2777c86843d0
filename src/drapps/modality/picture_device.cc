#include "drapps/modality/picture_device.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "drapps/base/caught.h"
#include "drapps/base/clock.h"
#include "drapps/device/kernel/augment.h"
#include "drapps/modality/picture_group.h"

namespace drapps {
namespace {

using device::Memory;
using device::Where;

// 64 crops of photographs as ImageNet has them.
constexpr device::JpegBounds kGroupBounds{.input = std::size_t{8} << 20, .work = std::size_t{96} << 20};
constexpr std::size_t kPixelBytes = std::size_t{24} << 20;  // of a group, on their way back
constexpr std::size_t kListBytes = std::size_t{4} << 20;    // of its ops
constexpr std::size_t kKeptBytes = std::size_t{32} << 20;   // of pictures between two resizes, as of 64 of 341 x 256
constexpr std::size_t kLeastPart = 8;                       // an eighth of all that, where there is no memory for more

std::size_t table_bytes(const PictureWriter* writer) { return writer == nullptr ? 0 : writer->table().size(); }

Error no_room_there(const char* where, std::size_t bytes) {
  return {.code = ErrorCode::kResourceExhausted,
          .stage = Stage::kSetup,
          .message = std::string("decoding on a device takes ") + std::to_string(bytes) + " bytes of " + where +
                     ", which are not left; raise the budget, or write placement=\"cpu\""};
}

}  // namespace

PictureDevice::Reserved::Reserved(MemoryLedger& from, std::size_t much) noexcept
    : ledger(from), bytes(much), good(from.reserve(much)) {}

PictureDevice::Reserved::~Reserved() {
  if (good) ledger.release(bytes);
}

PictureDevice::Sizes PictureDevice::Sizes::part(std::size_t divisor, const PictureWriter* writer, bool keeps) noexcept {
  Sizes sizes{.together = kTogether / divisor,
              .jpeg = {.input = kGroupBounds.input / divisor, .work = kGroupBounds.work / divisor},
              .pixels = kPixelBytes / divisor};
  if (writer == nullptr) return sizes;
  sizes.lists = kListBytes / divisor;
  sizes.rows = sizes.together * writer->bytes();
  if (keeps) sizes.kept = kKeptBytes / divisor;
  return sizes;
}

PictureDevice::PictureDevice(std::shared_ptr<DeviceRoom> room, MemoryLedger& host, std::int32_t channels,
                             const PictureWriter* writer, std::string why_not_augmented, const Sizes& sizes)
    : room_(std::move(room)),
      host_(host),
      channels_(channels),
      writer_(writer),
      why_not_augmented_(std::move(why_not_augmented)),
      sizes_(sizes),
      pinned_(host, kGroups * (sizes.jpeg.input + sizes.pixels + sizes.lists + sizes.rows) + table_bytes(writer)),
      there_(room_->ledger, kGroups * (sizes.jpeg.input + sizes.jpeg.work + sizes.lists + sizes.rows + sizes.kept) +
                                table_bytes(writer)) {}

Result<std::shared_ptr<PictureDevice>> PictureDevice::make(const std::shared_ptr<DeviceRoom>& room, MemoryLedger& host,
                                                           std::int32_t channels,
                                                           const Result<const PictureWriter*>& writer, bool keeps) {
  const PictureWriter* const rows = writer.ok() ? *writer : nullptr;
  const std::string why_not = writer.ok() ? std::string() : writer.error().message;
  return catching([&]() -> Result<std::shared_ptr<PictureDevice>> {
    for (std::size_t divisor = 1;; divisor *= 2) {
      std::shared_ptr<PictureDevice> picture_device(
          new PictureDevice(room, host, channels, rows, why_not, Sizes::part(divisor, rows, keeps)));
      Status started = picture_device->start();
      if (started.ok()) return picture_device;
      if (started.error().code != ErrorCode::kResourceExhausted || divisor == kLeastPart) return started.error();
    }
  });
}

Status PictureDevice::start() {
  if (!pinned_.good) return no_room_there("the RAM budget", pinned_.bytes);
  if (!there_.good) return no_room_there("the device's memory", there_.bytes);
  auto stream = device::MeteredStream::make(*room_->device, counters_);
  if (!stream.ok()) return std::move(stream).error();
  stream_ = *std::move(stream);
  free_.reserve(kGroups);
  closed_.reserve(kGroups);
  for (std::size_t i = 0; i < kGroups; ++i) DRAPPS_RETURN_IF_ERROR(add_group());
  if (writer_ != nullptr) DRAPPS_RETURN_IF_ERROR(copy_table());
  auto thread = ServiceThread::start("drapps-decode", [this](const std::stop_token& stop) { run(stop); });
  if (!thread.ok()) return std::move(thread).error();
  thread_ = *std::move(thread);
  return ok_status();
}

Status PictureDevice::add_group() {
  auto group = std::make_unique<Group>(host_);
  auto decoder = device::JpegDecoder::make(*room_->device, host_, channels_, sizes_.jpeg);
  if (!decoder.ok()) return std::move(decoder).error();
  group->decoder = *std::move(decoder);
  auto ended = room_->device->event();
  if (!ended.ok()) return std::move(ended).error();
  group->ended = *std::move(ended);
  struct WantedMemory {
    Memory* memory;
    Where where;
    std::size_t bytes;
  };
  std::vector<WantedMemory> all{{&group->pixels, Where::kPinned, sizes_.pixels}};
  if (writer_ != nullptr) {
    all.push_back({&group->lists, Where::kPinned, sizes_.lists});
    all.push_back({&group->lists_there, Where::kDevice, sizes_.lists + sizes_.kept});
    all.push_back({&group->rows, Where::kPinned, sizes_.rows});
    all.push_back({&group->rows_there, Where::kDevice, sizes_.rows});
  }
  for (const auto [memory, where, bytes] : all) {
    auto allocated = room_->device->allocate(where, bytes);
    if (!allocated.ok()) return std::move(allocated).error();
    *memory = *std::move(allocated);
  }
  free_.push_back(group.get());
  groups_.push_back(std::move(group));
  return ok_status();
}

Status PictureDevice::copy_table() {
  const std::vector<std::byte> table = writer_->table();
  auto host = room_->device->allocate(Where::kPinned, table.size());
  if (!host.ok()) return std::move(host).error();
  auto there = room_->device->allocate(Where::kDevice, table.size());
  if (!there.ok()) return std::move(there).error();
  table_on_host_ = *std::move(host);
  table_ = *std::move(there);
  std::memcpy(table_on_host_.data(), table.data(), table.size());
  // The launches that read it stand behind it in the stream.
  return stream_->copy_in(table_.data(), table_on_host_.data(), table.size());
}

PictureDevice::~PictureDevice() {
  if (thread_.joinable()) {
    thread_.request_stop();
    thread_.join();
  }
  if (open_ != nullptr) open_->lease.reset();
  stream_.reset();  // waits for what is under way, which is in the groups' memory
}

bool PictureDevice::list(Sample& sample, const Request& request, LateSink& sink) noexcept {
  bool listed = false;
  bool closed = false;
  {
    const std::scoped_lock lock(mutex_);
    const Status status = catching([&] {
      // A picture that the open group has no room for goes to the next one.
      for (int tries = 0; tries < 2 && !listed && !lost_; ++tries) {
        Group* const group = open_group();
        if (group == nullptr) return;
        bool full = !has_room(*group, request);
        if (!full) listed = add(*group, sample, request, sink, full);
        if (!full || group->waiting.empty()) break;
        close_group();
        closed = true;
      }
    });
    if (!status.ok() && open_ != nullptr) open_->spoilt = true;
    if (open_ != nullptr && open_->spoilt && open_->waiting.empty()) open_->clear();
  }
  if (closed) more_.notify_one();
  return listed;
}

PictureDevice::Group* PictureDevice::open_group() {
  if (open_ != nullptr || free_.empty()) return open_;
  Group* const group = free_.back();
  group->lease = std::shared_ptr<void>(group, [this](void* ended) { recycle(*static_cast<Group*>(ended)); });
  free_.pop_back();
  open_ = group;
  return group;
}

void PictureDevice::close_group() { closed_.push_back(std::exchange(open_, nullptr)); }

bool PictureDevice::has_room(const Group& group, const Request& request) const noexcept {
  if (group.spoilt || group.waiting.size() == sizes_.together) return false;
  if (request.trail != nullptr && group.kept + device::kept_bytes(*request.trail) > sizes_.kept) return false;
  const Rect& window = request.window;
  const std::int64_t pixels = (group.lines + window.height) * std::max(group.widest, window.width);
  return static_cast<std::size_t>(pixels * channels_) <= sizes_.pixels;
}

bool PictureDevice::add(Group& group, Sample& sample, const Request& request, LateSink& sink, bool& full) {
  const auto taken = group.decoder->add(request.bytes, request.info, request.window, request.index);
  if (!taken.ok()) group.spoilt = true;  // it has forgotten all that were taken
  full = !taken.ok() || *taken == device::JpegTaken::kFull;
  if (!taken.ok() || *taken != device::JpegTaken::kTaken) return false;
  if (request.trail != nullptr) {
    // Where the pixels will lie is known when all pictures are there.
    group.augmented.push_back(group.waiting.size());
    group.trails.push_back(*request.trail);
    group.kept += device::kept_bytes(*request.trail);
  }
  Waiting& waiting = group.waiting.emplace_back(Waiting{&sample, &sink, {}});
  waiting.late.extent = request.info.extent;
  waiting.late.window = request.window;
  waiting.late.group_ = &group;
  group.lines += request.window.height;
  group.widest = std::max(group.widest, request.window.width);
  ++group.unreleased;
  sample.late = std::shared_ptr<void>(group.lease, &waiting.late);
  return true;
}

void PictureDevice::release(Sample& sample) noexcept {
  Group& group = *static_cast<Late*>(sample.late.get())->group_;
  {
    const std::scoped_lock lock(mutex_);
    if (--group.unreleased > 0) return;
  }
  more_.notify_one();
}

/// The group that is to be launched now, or null.
PictureDevice::Group* PictureDevice::next() noexcept {
  if (!closed_.empty()) {
    Group* const first = closed_.front();
    if (first->unreleased > 0) return nullptr;
    closed_.erase(closed_.begin());
    return first;
  }
  if (open_ == nullptr || open_->waiting.empty() || open_->unreleased > 0) return nullptr;
  return std::exchange(open_, nullptr);
}

void PictureDevice::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (true) {
    Group* now = nullptr;
    if (!more_.wait(lock, stop, [&] { return (now = next()) != nullptr; })) return;
    lock.unlock();
    now->launched = catching([&] { return launch(*now); });
    while (now != nullptr) {
      const Status status = now->launched.ok() ? now->ended->wait() : now->launched;
      const std::uint64_t ended_ns = monotonic_ns();
      if (!status.ok()) lose(status.error());
      lock.lock();
      counts_.busy_ns += ended_ns - now->launched_ns;
      Group* const after = next();
      lock.unlock();
      // The device does not wait for samples to go back.
      if (after != nullptr) after->launched = catching([&] { return launch(*after); });
      deliver(*now, status);
      now = after;
    }
    lock.lock();
  }
}

Status PictureDevice::launch(Group& group) {
  group.launched_ns = monotonic_ns();
  if (lost_) return Error{.code = ErrorCode::kDeviceLost, .stage = Stage::kDecode, .message = "the device was lost"};
  if (!group.spoilt) {
    DRAPPS_RETURN_IF_ERROR(group.decoder->launch(*stream_));
    DRAPPS_RETURN_IF_ERROR(augment(group));
    DRAPPS_RETURN_IF_ERROR(copy_back(group));
  }
  DRAPPS_RETURN_IF_ERROR(stream_->record(*group.ended));
  return stream_->pause();
}

/// Makes rows of the pictures that are augmented there, and copies them back.
Status PictureDevice::augment(Group& group) {
  if (group.augmented.empty()) return ok_status();
  const device::JpegDecoder::Pixels first = group.decoder->pixels(0);
  group.list.clear();
  std::size_t rows = 0;
  for (; rows < group.augmented.size(); ++rows) {
    const std::size_t number = group.augmented[rows];
    const Rect& window = group.waiting[number].late.window;
    const std::int64_t origin = window.top * first.row_bytes + window.left * std::int64_t{channels_};
    if (!group.list
             .add(group.decoder->pixels(number).first - first.first - origin, group.trails[rows],
                  writer_->format().dtype)
             .ok()) {
      group.spoilt = true;
      return ok_status();
    }
    group.waiting[number].late.row = group.rows.data() + rows * writer_->bytes();
  }
  const std::size_t bytes = group.list.bytes();
  if (bytes > sizes_.lists || group.list.device_bytes() > sizes_.lists + group.kept) {
    group.spoilt = true;  // by pictures of which each line takes so many numbers that no photograph has them
    return ok_status();
  }
  device::AugmentArguments arguments = device::arguments_of(*writer_);
  arguments.pictures = first.first;
  arguments.channel_stride = 1;
  arguments.row_stride = first.row_bytes;
  arguments.pixel_stride = arguments.picture_channels = channels_;
  arguments.table = table_.data();
  arguments.out = reinterpret_cast<std::uint8_t*>(group.rows_there.data());
  group.list.put(group.lists.data(), group.lists_there.data(), arguments);
  DRAPPS_RETURN_IF_ERROR(stream_->copy_in(group.lists_there.data(), group.lists.data(), bytes));
  DRAPPS_RETURN_IF_ERROR(group.list.launch(*stream_, arguments));
  return stream_->copy_out(group.rows.data(), group.rows_there.data(), rows * writer_->bytes());
}

/// Copies the pixels of the pictures that are not augmented back: neighbours by one copy.
Status PictureDevice::copy_back(Group& group) {
  if (group.spoilt) return ok_status();
  const std::uint8_t* const first = group.decoder->pixels(0).first;
  std::size_t begin = 0, end = 0;  // of what is to be copied
  const auto copy = [&]() -> Status {
    if (begin == end) return ok_status();
    return stream_->copy_out(group.pixels.data() + begin, reinterpret_cast<const std::byte*>(first) + begin,
                             end - begin);
  };
  for (std::size_t i = 0; i < group.waiting.size(); ++i) {
    Late& late = group.waiting[i].late;
    if (late.row != nullptr) continue;
    const device::JpegDecoder::Pixels pixels = group.decoder->pixels(i);
    const auto at = static_cast<std::size_t>(pixels.first - first);
    late.row_bytes = pixels.row_bytes;
    late.bytes = static_cast<std::size_t>(pixels.row_bytes) * static_cast<std::size_t>(pixels.extent.height);
    late.pixels = reinterpret_cast<const std::uint8_t*>(group.pixels.data()) + at;
    if (at != end) {
      DRAPPS_RETURN_IF_ERROR(copy());
      begin = at;
    }
    end = at + late.bytes;
  }
  return copy();
}

void PictureDevice::lose(const Error& error) {
  const std::scoped_lock lock(mutex_);
  if (std::exchange(lost_, true)) return;
  static_cast<void>(catching([&] {
    warning_ = "decoding on " + room_->device->name() + " has ended, and the CPU decodes instead: " + error.message;
  }));
}

void PictureDevice::deliver(Group& group, const Status& status) {
  const bool good = status.ok() && !group.spoilt;
  std::uint64_t decoded = 0, augmented = 0;
  for (std::size_t i = 0; i < group.waiting.size(); ++i) {
    Waiting& waiting = group.waiting[i];
    if (good && group.decoder->right(i)) {
      ++decoded;
      if (waiting.late.row != nullptr) ++augmented;
    } else {
      waiting.sample->decoded.distrusted = good;
      waiting.sample->late.reset();
    }
  }
  {
    const std::scoped_lock lock(mutex_);
    ++counts_.launches;
    counts_.decoded += decoded;
    counts_.augmented += augmented;
    counts_.returned += group.waiting.size() - decoded;
  }
  for (const Waiting& waiting : group.waiting) waiting.sink->late_decoded(*waiting.sample);
  const std::shared_ptr<void> lease = std::move(group.lease);
}

void PictureDevice::recycle(Group& group) noexcept {
  const std::scoped_lock lock(mutex_);
  group.clear();
  if (!lost_) free_.push_back(&group);
}

LateCounts PictureDevice::counts() const noexcept {
  const std::scoped_lock lock(mutex_);
  LateCounts counts = counts_;
  counts.device = counters_.read();
  return counts;
}

std::string PictureDevice::take_warning() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(warning_, {});
}

}  // namespace drapps
