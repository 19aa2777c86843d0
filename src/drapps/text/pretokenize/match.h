// One matcher per pattern, written by hand: what its regular expression matches at a place where a match begins.
// Contracts as Match in pattern.h.
#pragma once

#include <cstdint>

namespace drapps::text {

const std::uint8_t* match_gpt2(const std::uint8_t* text, const std::uint8_t* end) noexcept;
const std::uint8_t* match_cl100k(const std::uint8_t* text, const std::uint8_t* end) noexcept;
const std::uint8_t* match_cl100k_tail(const std::uint8_t* text, const std::uint8_t* end) noexcept;
const std::uint8_t* match_qwen2(const std::uint8_t* text, const std::uint8_t* end) noexcept;
const std::uint8_t* match_o200k(const std::uint8_t* text, const std::uint8_t* end) noexcept;
const std::uint8_t* match_tekken(const std::uint8_t* text, const std::uint8_t* end) noexcept;
const std::uint8_t* match_deepseek(const std::uint8_t* text, const std::uint8_t* end) noexcept;

}  // namespace drapps::text
