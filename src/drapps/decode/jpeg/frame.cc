#include "drapps/decode/jpeg/frame.h"

#include <string_view>

#include "drapps/decode/jpeg/markers.h"
#include "drapps/kernel/jpeg/zigzag.h"

namespace drapps::jpeg {
namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr std::int32_t kMaxSide = 65500;  // of what libjpeg decodes

std::uint32_t number(Bytes bytes, std::size_t at) { return static_cast<std::uint32_t>(bytes[at] << 8 | bytes[at + 1]); }

class HeaderReader {
 public:
  /// False where something is not as expected, which leaves the picture to libjpeg.
  bool segment(std::uint8_t marker, Bytes body) {
    switch (marker) {
      case kSof0:
      case kSof1: return start_of_frame(body);
      case kDqt: return quantizers(body);
      case kDht: return codes(body);
      case kDri:
        if (body.size() != 2) return false;
        frame_.restart_interval = number(body, 0);
        return true;
      case kApp0:
        if (body.size() >= 14 && text(body).starts_with(std::string_view("JFIF\0", 5))) jfif_ = true;
        return true;
      case kApp14:
        if (body.size() >= 12 && text(body).starts_with("Adobe")) adobe_transform_ = body[11];
        return true;
      default: return true;
    }
  }

  /// The scan header: everything must be there by now.
  bool start_of_scan(Bytes body) {
    const auto components = static_cast<std::size_t>(frame_.components);
    if (components == 0 || body.size() != 4 + 2 * components || body[0] != components) return false;
    for (std::size_t i = 0; i < components; ++i) {
      // In the order of the frame (T.81, B.2.3); libjpeg refuses others.
      if (body[1 + 2 * i] != id_[i]) return false;
      const std::size_t dc = body[2 + 2 * i] >> 4, ac = body[2 + 2 * i] & 15;
      if (dc > 3 || ac > 3 || dc_[dc].empty() || ac_[ac].empty() || !has_quant_[quant_[i]]) return false;
      Component& component = frame_.component[i];
      component.dc = dc_[dc];
      component.ac = ac_[ac];
      component.quant = quantizer_[quant_[i]];
    }
    return components == 1 || is_ycc();
  }

  Frame& frame() { return frame_; }

 private:
  static std::string_view text(Bytes body) { return {reinterpret_cast<const char*>(body.data()), body.size()}; }

  bool start_of_frame(Bytes body) {
    if (body.size() < 6) return false;
    frame_.extent = {static_cast<std::int32_t>(number(body, 1)), static_cast<std::int32_t>(number(body, 3))};
    if (frame_.extent.height > kMaxSide || frame_.extent.width > kMaxSide) return false;
    const std::size_t components = body[5];
    if ((components != 1 && components != 3) || body.size() != 6 + 3 * components) return false;
    frame_.components = static_cast<std::int32_t>(components);
    for (std::size_t i = 0; i < components; ++i) {
      id_[i] = body[6 + 3 * i];
      const int across = body[7 + 3 * i] >> 4, down = body[7 + 3 * i] & 15;
      if (i == 0) {
        frame_.sampling = {across, down};
      } else if (across != 1 || down != 1) {
        return false;
      }
      if (body[8 + 3 * i] > 3) return false;
      quant_[i] = body[8 + 3 * i];
    }
    const auto [across, down] = frame_.sampling;
    return (across == 1 || across == 2 || (across == 4 && down == 1)) && (down == 1 || down == 2) &&
           (components == 3 || across * down == 1) &&
           !(components == 3 && (id_[0] == id_[1] || id_[0] == id_[2] || id_[1] == id_[2]));
  }

  bool quantizers(Bytes body) {
    while (!body.empty()) {
      const std::size_t wide = body[0] >> 4, id = body[0] & 15, length = 1 + 64 * (wide + 1);
      if (wide > 1 || id > 3 || body.size() < length) return false;
      for (std::size_t k = 0; k < 64; ++k) {
        const std::uint32_t value = wide == 0 ? body[1 + k] : number(body, 1 + 2 * k);
        quantizer_[id][kernel::jpeg::kZigzag[k]] = static_cast<std::int16_t>(value);
      }
      has_quant_[id] = true;
      body = body.subspan(length);
    }
    return true;
  }

  bool codes(Bytes body) {
    while (!body.empty()) {
      if (body.size() < 17) return false;
      const std::size_t kind = body[0] >> 4, id = body[0] & 15;
      std::size_t length = 16;
      for (std::size_t i = 1; i <= 16; ++i) length += body[i];
      if (kind > 1 || id > 3 || length > 16 + 256 || body.size() < 1 + length) return false;
      (kind == 0 ? dc_ : ac_)[id] = body.subspan(1, length);
      body = body.subspan(1 + length);
    }
    return true;
  }

  /// Whether libjpeg takes the colours for YCbCr.
  bool is_ycc() const {
    if (jfif_) return true;
    if (adobe_transform_) return *adobe_transform_ != 0;
    return id_ != std::array<std::uint8_t, 3>{'R', 'G', 'B'};
  }

  Frame frame_;
  std::array<std::uint8_t, 3> id_{};
  std::array<std::uint8_t, 3> quant_{};
  std::array<std::array<std::int16_t, 64>, 4> quantizer_{};
  std::array<bool, 4> has_quant_{};
  std::array<Bytes, 4> dc_, ac_;
  bool jfif_ = false;
  std::optional<std::uint8_t> adobe_transform_;
};

}  // namespace

std::optional<Frame> read_frame(Bytes bytes) noexcept {
  HeaderReader reader;
  for (std::size_t at = 2; bytes.size() - at >= 4 && bytes[at] == 0xFF;) {
    const std::size_t length = number(bytes, at + 2);
    if (length < 2 || bytes.size() - at < 2 + length) break;
    const std::uint8_t marker = bytes[at + 1];
    const Bytes body = bytes.subspan(at + 4, length - 2);
    at += 2 + length;
    if (marker == kSos) {
      if (!reader.start_of_scan(body)) break;
      reader.frame().scan_begin = at;
      return reader.frame();
    }
    if (!reader.segment(marker, body)) break;
  }
  return std::nullopt;
}

}  // namespace drapps::jpeg
