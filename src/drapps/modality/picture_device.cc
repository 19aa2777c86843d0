#include "drapps/modality/picture_device.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "drapps/base/caught.h"
#include "drapps/base/clock.h"
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

std::size_t PictureDevice::Sizes::lists_there(const PictureWriter* writer) const noexcept {
  return writer == nullptr ? 0 : lists + kept + pixels;
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
      there_(room_->ledger, kGroups * (sizes.jpeg.input + sizes.jpeg.work + sizes.rows + sizes.lists_there(writer)) +
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
    all.push_back({&group->lists_there, Where::kDevice, sizes_.lists_there(writer_)});
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

bool PictureDevice::list(Sample& sample, const LateRequest& request, LateSink& sink) noexcept {
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

bool PictureDevice::has_room(const Group& group, const LateRequest& request) const noexcept {
  if (group.spoilt || group.waiting.size() == sizes_.together) return false;
  if (request.trail != nullptr && group.kept + device::kept_bytes(*request.trail) > sizes_.kept) return false;
  return pixel_bytes(group, request) <= sizes_.pixels;
}

/// Bytes of the group's pinned pixels, once it has this picture.
std::size_t PictureDevice::pixel_bytes(const Group& group, const LateRequest& request) const noexcept {
  const Rect& window = request.window;
  if (request.pixels != nullptr) {
    return static_cast<std::size_t>(group.lines * group.widest * channels_) + group.listed_bytes +
           device::AugmentList::window_bytes(window, channels_);
  }
  const std::int64_t pixels = (group.lines + window.height) * std::max(group.widest, window.width);
  return static_cast<std::size_t>(pixels * channels_) + group.listed_bytes;
}

/// Copies pixels to where the device gets them from.
void PictureDevice::list_pixels(Group& group, const LateRequest& request) const {
  const std::size_t bytes = device::AugmentList::window_bytes(request.window, channels_);
  group.listed_bytes += bytes;
  const std::size_t at = sizes_.pixels - group.listed_bytes;
  group.listed.push_back({.at = at, .bytes = bytes});
  std::byte* out = group.pixels.data() + at;
  const auto width = static_cast<std::size_t>(request.window.width);
  for (std::int32_t channel = 0; channel < channels_; ++channel) {
    for (std::int32_t y = 0; y < request.window.height; ++y, out += width) {
      std::memcpy(out, request.pixels->row(channel, y), width);
    }
  }
}

bool PictureDevice::add(Group& group, Sample& sample, const LateRequest& request, LateSink& sink, bool& full) {
  std::optional<std::size_t> number;
  if (request.pixels != nullptr) {
    list_pixels(group, request);
  } else {
    const auto taken = group.decoder->add(request.bytes, *request.info, request.window, *request.index);
    if (!taken.ok()) group.spoilt = true;  // it has forgotten all that were taken
    full = !taken.ok() || *taken == device::JpegTaken::kFull;
    if (!taken.ok() || *taken != device::JpegTaken::kTaken) return false;
    number = group.decoder->pictures() - 1;
    group.lines += request.window.height;
    group.widest = std::max(group.widest, request.window.width);
  }
  if (request.trail != nullptr) {
    // Where the pixels will lie is known when all pictures are there.
    group.augmented.push_back(group.waiting.size());
    group.trails.push_back(*request.trail);
    group.kept += device::kept_bytes(*request.trail);
  }
  Waiting& waiting = group.waiting.emplace_back(Waiting{&sample, &sink, {}, number});
  waiting.late.extent = request.extent;
  waiting.late.window = request.window;
  if (request.trail != nullptr) waiting.late.row_there = request.row_there;
  waiting.late.group_ = &group;
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

void PictureDevice::lose(const Error& error) {
  const std::scoped_lock lock(mutex_);
  if (std::exchange(lost_, true)) return;
  static_cast<void>(catching([&] {
    warning_ = "decoding on " + room_->device->name() + " has ended, and the CPU decodes instead: " + error.message;
  }));
}

void PictureDevice::deliver(Group& group, const Status& status) {
  const bool good = status.ok() && !group.spoilt;
  LateCounts counts{.launches = 1};
  for (Waiting& waiting : group.waiting) {
    if (good && (!waiting.number || group.decoder->right(*waiting.number))) {
      ++(waiting.number ? counts.decoded : counts.from_cache);
      if (waiting.late.augmented()) ++counts.augmented;
      if (waiting.late.row_there != nullptr) ++counts.stayed;
    } else {
      ++counts.returned;
      waiting.sample->decoded.distrusted = good;
      waiting.sample->late.reset();
    }
  }
  {
    const std::scoped_lock lock(mutex_);
    counts_.launches += counts.launches;
    counts_.decoded += counts.decoded;
    counts_.from_cache += counts.from_cache;
    counts_.augmented += counts.augmented;
    counts_.stayed += counts.stayed;
    counts_.returned += counts.returned;
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
