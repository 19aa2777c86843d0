#include "drapps/meter/network_meter.h"

#include <optional>
#include <string_view>
#include <utility>

#include "drapps/base/system_text.h"
#include "drapps/meter/summary.h"

namespace drapps {
namespace {

/// Fields of a line of /proc/net/dev behind the name: eight of what was received, and eight of what was sent.
enum : std::uint8_t { kReceived = 0, kReceiveErrors = 2, kReceiveDrops = 3, kSent = 8, kSendErrors = 10, kSendDrops };

}  // namespace

NetworkMeter::NetworkMeter(const std::string& root) : devices_(root + "/proc/net/dev") {}

NetworkReadings NetworkMeter::read(std::uint64_t now_ns) {
  interfaces_.clear();
  const auto text = devices_.read(now_ns);
  std::map<std::string, NetworkRates> before = std::exchange(known_, {});
  if (!text) return {};
  Summary received, sent, errors, drops;
  for (std::string_view rest = *text; !rest.empty();) {
    std::string_view line = take_until(rest, '\n');
    const std::size_t colon = line.rfind(':');  // a name may have colons of its own
    if (colon == std::string_view::npos) continue;
    std::string_view padded = line.substr(0, colon);
    std::string name(take_word(padded));
    line.remove_prefix(colon + 1);
    if (name == "lo") continue;
    std::array<std::optional<std::uint64_t>, kSendDrops + 1> count;
    for (auto& each : count) each = leading_number(take_word(line));
    if (!count[kSendDrops]) continue;
    const auto both = [&](std::size_t one, std::size_t other) {
      return count[one].value_or(0) + count[other].value_or(0);
    };
    auto known = before.extract(name);
    NetworkRates& rates =
        known ? known_.insert(std::move(known)).position->second : known_.emplace(name, NetworkRates{}).first->second;
    const NetworkReadings now{
        .received = rates.received.read(count[kReceived], now_ns),
        .sent = rates.sent.read(count[kSent], now_ns),
        .errors = rates.errors.read(both(kReceiveErrors, kSendErrors), now_ns),
        .drops = rates.drops.read(both(kReceiveDrops, kSendDrops), now_ns),
    };
    received.add(now.received);
    sent.add(now.sent);
    errors.add(now.errors);
    drops.add(now.drops);
    interfaces_.push_back({std::move(name), now});
  }
  return {.received = received.sum(now_ns),
          .sent = sent.sum(now_ns),
          .errors = errors.sum(now_ns),
          .drops = drops.sum(now_ns)};
}

}  // namespace drapps
