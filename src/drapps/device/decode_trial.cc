#include "drapps/device/decode_trial.h"

#include <cstring>
#include <memory>
#include <utility>

#include "drapps/base/caught.h"
#include "drapps/decode/decoder.h"
#include "drapps/decode/jpeg/index_memory.h"
#include "drapps/device/jpeg_decoder.h"

namespace drapps::device {
namespace {

constexpr std::size_t kIndexBytes = std::size_t{64} << 20;
constexpr JpegBounds kBounds{.input = std::size_t{8} << 20, .work = std::size_t{64} << 20};

/// The pictures of some launches, one after another.
class DeviceTrial {
 public:
  DeviceTrial(Device& device, std::size_t files, std::int32_t channels)
      : device_(device), channels_(channels), indexes_(MemoryLedger::unlimited(), files, kIndexBytes), pixels_(files) {}

  Status begin() {
    auto decoder = JpegDecoder::make(device_, MemoryLedger::unlimited(), channels_, kBounds);
    if (!decoder.ok()) return std::move(decoder).error();
    decoder_ = *std::move(decoder);
    auto stream = device_.stream();
    if (!stream.ok()) return std::move(stream).error();
    stream_ = *std::move(stream);
    auto event = device_.event();
    if (!event.ok()) return std::move(event).error();
    event_ = *std::move(event);
    return ok_status();
  }

  Status add(std::size_t number, std::span<const std::uint8_t> file) {
    DecodeOptions options;
    if (channels_ == 1) options.color = ColorMode::kGray;
    const auto info = cpu_.inspect(file, options);
    if (!info.ok()) return info.error();
    const Rect whole{0, 0, info->stored.height, info->stored.width};
    const jpeg::IndexUse index{&indexes_, {.record = number, .identity = {.size = file.size()}}, nullptr};
    if (auto seen = cpu_.decode(file, *info, whole, options, image_, &index); !seen.ok()) return seen.error();
    auto taken = decoder_->add(file, *info, whole, index);
    if (taken.ok() && *taken == JpegTaken::kFull) {
      DRAPPS_RETURN_IF_ERROR(run());
      taken = decoder_->add(file, *info, whole, index);
    }
    if (!taken.ok()) return taken.error();
    pixels_[number].extent = info->stored;
    if (*taken == JpegTaken::kTaken) numbers_.push_back(number);
    return ok_status();
  }

  /// Decodes what was added.
  Status run() {
    if (numbers_.empty()) return ok_status();
    DRAPPS_RETURN_IF_ERROR(decoder_->launch(*stream_));
    DRAPPS_RETURN_IF_ERROR(wait());
    for (std::size_t i = 0; i < numbers_.size(); ++i) {
      if (decoder_->right(i)) DRAPPS_RETURN_IF_ERROR(fetch(i, pixels_[numbers_[i]]));
    }
    numbers_.clear();
    decoder_->clear();
    return ok_status();
  }

  std::vector<TrialPixels> take() { return std::move(pixels_); }

 private:
  Status wait() {
    DRAPPS_RETURN_IF_ERROR(stream_->record(*event_));
    return event_->wait();
  }

  Status fetch(std::size_t i, TrialPixels& output) {
    const auto [first, extent, row_bytes] = decoder_->pixels(i);
    const auto pitch = static_cast<std::size_t>(row_bytes);
    const auto rows = static_cast<std::size_t>(extent.height);
    const std::size_t row = static_cast<std::size_t>(extent.width) * static_cast<std::size_t>(channels_);
    auto host = device_.allocate(Where::kPinned, rows * pitch);
    if (!host.ok()) return std::move(host).error();
    DRAPPS_RETURN_IF_ERROR(stream_->copy_out(host->data(), reinterpret_cast<const std::byte*>(first), rows * pitch));
    DRAPPS_RETURN_IF_ERROR(wait());
    output.pixels.resize(rows * row);
    for (std::size_t y = 0; y < rows; ++y) std::memcpy(&output.pixels[y * row], host->data() + y * pitch, row);
    output.there = true;
    return ok_status();
  }

  Device& device_;
  const std::int32_t channels_;
  jpeg::MemoryIndexStore indexes_;
  Decoder cpu_{MemoryLedger::unlimited()};
  ImageBuffer image_{MemoryLedger::unlimited()};
  std::unique_ptr<JpegDecoder> decoder_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Event> event_;
  std::vector<std::size_t> numbers_;  // of the files that are added
  std::vector<TrialPixels> pixels_;
};

}  // namespace

Result<std::vector<TrialPixels>> decode_on(Device& device, std::span<const std::span<const std::uint8_t>> files,
                                           std::int32_t channels) {
  return catching([&]() -> Result<std::vector<TrialPixels>> {
    DeviceTrial trial(device, files.size(), channels);
    DRAPPS_RETURN_IF_ERROR(trial.begin());
    for (std::size_t i = 0; i < files.size(); ++i) DRAPPS_RETURN_IF_ERROR(trial.add(i, files[i]));
    DRAPPS_RETURN_IF_ERROR(trial.run());
    return trial.take();
  });
}

}  // namespace drapps::device
