#include "drapps/decode/jpeg/reader.h"

#include <utility>

#include "drapps/decode/jpeg/frame.h"
#include "drapps/decode/jpeg/scan_bytes.h"

namespace drapps::jpeg {

Status JpegReader::read(std::span<const std::uint8_t> bytes, const ImageInfo& info, const Rect& region,
                        const ImageView& out, const IndexUse* memory) {
  if (!info.irregular) {
    const Result<bool> done = try_read(bytes, info, region, out, memory);
    if (!done.ok()) return done.error();
    if (*done) return ok_status();
  }
  return turbo_.read(bytes, info, region, out);
}

/// False where libjpeg has to do it: another kind of picture, or damage, of which libjpeg makes something.
Result<bool> JpegReader::try_read(std::span<const std::uint8_t> bytes, const ImageInfo& info, const Rect& region,
                                  const ImageView& out, const IndexUse* memory) {
  const std::optional<Frame> frame = read_frame(bytes);
  if (!frame || frame->extent != info.stored) return false;
  std::size_t known = 0;
  if (memory != nullptr) {
    const auto across = static_cast<std::uint32_t>(frame->mcus_across());
    const auto down = static_cast<std::uint32_t>(frame->mcus_down());
    const IndexShape shape = shape_of(*frame, bytes, memory->store->group(across, down));
    if (!memory->store->get(memory->key, index_) || index_.shape != shape) index_.entries.clear();
    index_.shape = shape;
    known = index_.entries.size();
    if (memory->known != nullptr) {
      *memory->known = known == 0 ? Learned::kNothing : known == shape.entries() ? Learned::kAll : Learned::kPart;
    }
  }
  Result<bool> ready = scan_.begin(bytes, *frame, memory == nullptr ? nullptr : &index_);
  if (!ready.ok() || !*ready) return ready;
  const auto outcome = renderer_.render(*frame, region, scan_, out, info.luma);
  if (!outcome.ok()) return outcome.error();
  if (*outcome != Renderer::RenderOutcome::kDone) return false;
  if (memory != nullptr && index_.entries.size() > known) {
    memory->store->offer(memory->key, index_.shape, index_.entries);
  }
  return true;
}

Result<std::int32_t> JpegReader::channels_for_certain(std::span<const std::uint8_t> bytes, const ImageInfo& info) {
  if (info.irregular) return 0;
  const std::optional<Frame> frame = read_frame(bytes);
  if (!frame || frame->extent != info.stored) return 0;
  const Result<bool> ready = scan_.begin(bytes, *frame, nullptr);
  if (!ready.ok()) return ready.error();
  return *ready ? frame->components : 0;
}

void JpegReader::reset() noexcept {
  scan_.reset();
  renderer_.reset();
  turbo_.reset();
  index_ = {};
}

}  // namespace drapps::jpeg
