// The markers of JPEG (T.81, table B.1).
#pragma once

#include <cstdint>

namespace drapps::jpeg {

enum Marker : std::uint8_t {
  kSof0 = 0xC0,
  kSof1 = 0xC1,
  kDht = 0xC4,
  kDac = 0xCC,
  kRst0 = 0xD0,
  kRst7 = 0xD7,
  kSoi = 0xD8,
  kEoi = 0xD9,
  kSos = 0xDA,
  kDqt = 0xDB,
  kDnl = 0xDC,
  kDri = 0xDD,
  kDhp = 0xDE,
  kExp = 0xDF,
  kApp0 = 0xE0,
  kApp1 = 0xE1,
  kApp14 = 0xEE,
  kApp15 = 0xEF,
  kCom = 0xFE,
};

}  // namespace drapps::jpeg
