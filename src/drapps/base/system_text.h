// Numbers and lists in the text of files below /proc and /sys.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

namespace drapps {

/// The number at the start of `text`, behind spaces and tabs; none for "max", "-1" and nonsense.
std::optional<std::uint64_t> leading_number(std::string_view text) noexcept;

/// Takes what stands before the next separator off `text`; the rest, without the separator, stays.
std::string_view take_until(std::string_view& text, char separator) noexcept;

/// The next word of a line whose words stand apart by spaces; empty at its end.
std::string_view take_word(std::string_view& line) noexcept;

/// The parts between separators; none behind a last separator.
std::vector<std::string_view> split_text(std::string_view text, char separator);

/// What follows "key:" or "key " at the start of a line.
std::optional<std::string_view> text_field(std::string_view text, std::string_view key) noexcept;

/// The number that follows "key:" or "key " at the start of a line.
std::optional<std::uint64_t> number_field(std::string_view text, std::string_view key) noexcept;

/// The CPUs of a list such as "0-3,8".
std::set<int> cpu_list(std::string_view text);

}  // namespace drapps
