#include "drapps/text/splitter.h"

#include <algorithm>
#include <cstring>

namespace drapps::text {

Splitter::Splitter(const std::vector<std::string_view>& strings) : nodes_(1) {
  first_.fill(kNothing);
  for (std::uint32_t i = 0; i < strings.size(); ++i) {
    std::uint32_t node = 0;
    for (const char c : strings[i]) {
      const auto byte = static_cast<std::uint8_t>(c);
      std::uint32_t next = child_of(node, byte);
      if (next == kNothing) {
        next = static_cast<std::uint32_t>(nodes_.size());
        nodes_.push_back({.byte = byte, .sibling = nodes_[node].child});
        nodes_[node].child = next;
        if (node == 0) first_[byte] = next;
      }
      node = next;
    }
    if (nodes_[node].string == kNothing) nodes_[node].string = i;
  }
  const auto used = [](std::uint32_t node) { return node != kNothing; };
  if (std::count_if(first_.begin(), first_.end(), used) == 1) {
    only_first_ = static_cast<int>(std::find_if(first_.begin(), first_.end(), used) - first_.begin());
  }
}

std::uint32_t Splitter::child_of(std::uint32_t node, std::uint8_t byte) const noexcept {
  std::uint32_t child = nodes_[node].child;
  while (child != kNothing && nodes_[child].byte != byte) child = nodes_[child].sibling;
  return child;
}

std::optional<Splitter::StringMatch> Splitter::find(std::string_view text, std::size_t from,
                                                    const std::vector<bool>* wanted) const noexcept {
  if (empty()) return std::nullopt;
  for (std::size_t at = from; at < text.size(); ++at) {
    if (only_first_ >= 0) {
      const void* const next = std::memchr(text.data() + at, only_first_, text.size() - at);
      if (next == nullptr) return std::nullopt;
      at = static_cast<std::size_t>(static_cast<const char*>(next) - text.data());
    }
    std::uint32_t node = first_[static_cast<std::uint8_t>(text[at])];
    std::optional<StringMatch> match;
    for (std::size_t end = at + 1; node != kNothing; ++end) {
      const std::uint32_t string = nodes_[node].string;
      if (string != kNothing && (wanted == nullptr || (*wanted)[string])) match = StringMatch{at, end, string};
      if (end == text.size()) break;
      node = child_of(node, static_cast<std::uint8_t>(text[end]));
    }
    if (match) return match;
  }
  return std::nullopt;
}

}  // namespace drapps::text
