#include "drapps/modality/form_trial.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <utility>

#include "drapps/base/clock.h"
#include "drapps/decode/decoder.h"
#include "drapps/decode/jpeg/coefficients.h"
#include "drapps/decode/jpeg/index_memory.h"
#include "drapps/modality/picture_forms.h"

namespace drapps {
namespace {

constexpr std::size_t kIndexRoom = std::size_t{64} << 20;

/// The middle of a picture, of half its pixels.
Rect middle(Extent whole) noexcept {
  const auto part = [](std::int32_t side) { return std::max(1, static_cast<std::int32_t>(0.7 * side)); };
  const Extent inner{part(whole.height), part(whole.width)};
  return {(whole.height - inner.height) / 2, (whole.width - inner.width) / 2, inner.height, inner.width};
}

std::int32_t difference(const ImageView& a, const ImageView& b) noexcept {
  std::int32_t most = 0;
  for (std::int32_t c = 0; c < a.channels; ++c) {
    for (std::int32_t y = 0; y < a.height; ++y) {
      for (std::int32_t x = 0; x < a.width; ++x) most = std::max(most, std::abs(a.row(c, y)[x] - b.row(c, y)[x]));
    }
  }
  return most;
}

/// One picture, and what its forms are tried with.
class FormTrials {
 public:
  FormTrials(std::span<const std::uint8_t> file, std::uint32_t times) : file_(file), times_(std::max(times, 1u)) {}

  Result<PictureTrial> run() {
    auto info = decoder_.inspect(file_, options_);
    if (!info.ok()) return std::move(info).error();
    info_ = *info;
    whole_ = {0, 0, info_.extent.height, info_.extent.width};
    auto pixels = decoder_.decode(file_, info_, whole_, options_, expected_);
    if (!pixels.ok()) return std::move(pixels).error();
    pixels_ = *pixels;
    constexpr const char* kFormats[] = {"jpeg", "png", "webp", "coefficients"};
    PictureTrial trial{.format = kFormats[static_cast<std::size_t>(info_.format)],
                       .depth = info_.depth,
                       .channels = pixels_.channels,
                       .extent = info_.extent,
                       .bytes = file_.size(),
                       .forms = {}};
    const auto add = [&](Result<FormTrial> form) -> Status {
      if (!form.ok()) return std::move(form).error();
      trial.forms.push_back(*std::move(form));
      return ok_status();
    };
    DRAPPS_RETURN_IF_ERROR(add(bytes()));
    DRAPPS_RETURN_IF_ERROR(add(indexed(trial.forms.front())));
    DRAPPS_RETURN_IF_ERROR(add(coefficients(trial.forms.front())));
    for (const cache::FormId form :
         {cache::FormId::kRaw, cache::FormId::kRawLz4, cache::FormId::kRawZstd, cache::FormId::kRawSnappy}) {
      DRAPPS_RETURN_IF_ERROR(add(array(form)));
    }
    return trial;
  }

 private:
  /// The least thread-CPU ns that some work takes, which is tried so often; or its first error.
  template <class Work>
  Result<std::uint64_t> least(const Work& work) {
    std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
    for (std::uint32_t i = 0; i < times_; ++i) {
      const std::uint64_t begun = thread_cpu_ns();
      DRAPPS_RETURN_IF_ERROR(work());
      least = std::min(least, thread_cpu_ns() - begun);
    }
    return least;
  }

  /// Fills in what decoding costs, by `read` of a region, and how far it is from the file's pixels.
  template <class Read>
  Result<FormTrial> timed(FormTrial form, const Read& read) {
    ImageView got;
    for (const bool all : {true, false}) {
      const Rect region = all ? whole_ : middle(info_.extent);
      auto time = least([&]() -> Status {
        auto image = read(region);
        if (!image.ok()) return std::move(image).error();
        got = *image;
        return ok_status();
      });
      if (!time.ok()) return std::move(time).error();
      (all ? form.whole_ns : form.region_ns) = *time;
      form.error = std::max(form.error, difference(got, pixels_.crop(region)));
    }
    return form;
  }

  Result<FormTrial> decoded(FormTrial form, std::span<const std::uint8_t> file, const jpeg::IndexUse* index) {
    const auto info = decoder_.inspect(file, options_);
    if (!info.ok()) return info.error();
    return timed(std::move(form),
                 [&](const Rect& region) { return decoder_.decode(file, *info, region, options_, out_, index); });
  }

  Result<FormTrial> bytes() { return decoded({.form = "bytes", .bytes = file_.size()}, file_, nullptr); }

  Result<FormTrial> indexed(const FormTrial& plain) {
    jpeg::MemoryIndexStore store(MemoryLedger::unlimited(), 1, kIndexRoom);
    const jpeg::IndexUse index{&store, {.record = 0, .identity = {.size = file_.size()}}, nullptr};
    const std::size_t before = store.bytes();
    const std::uint64_t begun = thread_cpu_ns();
    auto learnt = decoder_.decode(file_, info_, whole_, options_, out_, &index);
    if (!learnt.ok()) return std::move(learnt).error();
    FormTrial form{
        .form = "jpeg+index", .bytes = file_.size() + store.bytes() - before, .make_ns = thread_cpu_ns() - begun};
    if (store.knows_all(0)) return decoded(std::move(form), file_, &index);
    return kept_as_bytes("jpeg+index", plain);
  }

  Result<FormTrial> coefficients(const FormTrial& plain) {
    std::vector<std::uint8_t> output;
    jpeg::Transcoder transcoder(MemoryLedger::unlimited());
    auto time = least([&] { return transcoder.transcode(file_, output); });
    if (!time.ok() && time.error().code == ErrorCode::kResourceExhausted) return std::move(time).error();
    if (!time.ok()) return kept_as_bytes("coefficients", plain);
    return decoded({.form = "coefficients", .bytes = output.size(), .make_ns = *time}, output, nullptr);
  }

  Result<FormTrial> array(cache::FormId id) {
    std::span<const std::uint8_t> entry;
    auto time = least([&]() -> Status {
      auto image = decoder_.decode(file_, info_, whole_, options_, out_);
      if (!image.ok()) return std::move(image).error();
      auto encoding = forms_.encode(id, *image);
      if (!encoding.ok()) return std::move(encoding).error();
      entry = *encoding;
      return ok_status();
    });
    if (!time.ok()) return std::move(time).error();
    return timed({.form = std::string(name_of(id)), .bytes = entry.size(), .make_ns = *time},
                 [&](const Rect& region) { return forms_.read(entry, region, out_); });
  }

  static FormTrial kept_as_bytes(const char* form, const FormTrial& plain) {
    FormTrial same = plain;
    same.form = form;
    same.holds = false;
    return same;
  }

  const std::span<const std::uint8_t> file_;
  const std::uint32_t times_;
  const DecodeOptions options_{.depth = DepthMode::kClip};
  Decoder decoder_{MemoryLedger::unlimited()};
  PictureForms forms_{MemoryLedger::unlimited()};
  ImageBuffer expected_{MemoryLedger::unlimited()};
  ImageBuffer out_{MemoryLedger::unlimited()};
  ImageInfo info_;
  Rect whole_;
  ImageView pixels_;
};

}  // namespace

Result<PictureTrial> try_forms(std::span<const std::uint8_t> file, std::uint32_t times) {
  return FormTrials(file, times).run();
}

}  // namespace drapps
