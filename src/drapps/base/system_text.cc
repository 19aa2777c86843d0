#include "drapps/base/system_text.h"

#include <algorithm>
#include <charconv>

namespace drapps {

std::optional<std::uint64_t> leading_number(std::string_view text) noexcept {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  return value;
}

std::string_view take_until(std::string_view& text, char separator) noexcept {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

std::string_view take_word(std::string_view& line) noexcept {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  return take_until(line, ' ');
}

std::vector<std::string_view> split_text(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) parts.push_back(take_until(text, separator));
  return parts;
}

std::optional<std::string_view> text_field(std::string_view text, std::string_view key) noexcept {
  while (!text.empty()) {
    const std::string_view line = take_until(text, '\n');
    if (line.size() <= key.size() || !line.starts_with(key)) continue;
    const char behind = line[key.size()];
    if (behind == ':' || behind == ' ') return line.substr(key.size() + 1);
  }
  return std::nullopt;
}

std::optional<std::uint64_t> number_field(std::string_view text, std::string_view key) noexcept {
  return leading_number(text_field(text, key).value_or(""));
}

std::set<int> cpu_list(std::string_view text) {
  std::set<int> cpus;
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  for (const std::string_view range : split_text(text.substr(0, text.find('\n')), ',')) {
    const auto first = leading_number(range);
    if (!first) continue;
    const std::size_t dash = range.find('-');
    const auto last = dash == std::string_view::npos ? first : leading_number(range.substr(dash + 1));
    for (std::uint64_t cpu = *first; last && cpu <= *last && cpu < 65536; ++cpu) cpus.insert(static_cast<int>(cpu));
  }
  return cpus;
}

}  // namespace drapps
