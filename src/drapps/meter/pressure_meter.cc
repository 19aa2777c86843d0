#include "drapps/meter/pressure_meter.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "drapps/base/system_text.h"

namespace drapps {
namespace {

/// µs in the line "some avg10=0.00 avg60=0.00 avg300=0.00 total=12345".
std::optional<std::uint64_t> total_of(std::string_view text, std::string_view line) noexcept {
  constexpr std::string_view kTotal = "total=";
  const std::string_view field = text_field(text, line).value_or("");
  const std::size_t at = field.find(kTotal);
  return at == std::string_view::npos ? std::nullopt : leading_number(field.substr(at + kTotal.size()));
}

Reading at_most_all(Reading share) noexcept {
  share.value = std::min(share.value, 1.0);
  return share;
}

}  // namespace

PressureFile::PressureShares PressureFile::read(std::uint64_t now_ns) {
  const std::string_view text = file_.read(now_ns).value_or("");
  return {.some = at_most_all(some_.read(total_of(text, "some"), now_ns)),
          .full = at_most_all(full_.read(total_of(text, "full"), now_ns))};
}

PressureMeter::PressureMeter(const std::string& root)
    : cpu_(root + "/proc/pressure/cpu"), memory_(root + "/proc/pressure/memory"), io_(root + "/proc/pressure/io") {}

PressureReadings PressureMeter::read(std::uint64_t now_ns) {
  const PressureFile::PressureShares memory = memory_.read(now_ns);
  const PressureFile::PressureShares io = io_.read(now_ns);
  return {.cpu = cpu_.read(now_ns).some,
          .memory = memory.some,
          .memory_full = memory.full,
          .io = io.some,
          .io_full = io.full};
}

}  // namespace drapps
