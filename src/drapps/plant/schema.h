// The schema of settings: which knobs and lanes exist, in which order, on which grids.
//
//   const nlohmann::json stored = settings_to_json(settings, kThreadKnobs);
//   auto same = settings_from_json(stored, kThreadKnobs);
//
// Settings, traces and weights are arrays; they mean something only beside the lists they were made with. What is
// stored carries the hash of those lists and is refused where the hash differs.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "drapps/base/knob.h"
#include "drapps/base/result.h"

namespace drapps {

/// The knobs of threads that a device decodes for.
inline constexpr KnobSet kPlacedKnobs{0b0011'01111};

/// The lists in words: one line per knob (name, clock, grid) and one per lane. What is hashed, readable in a diff.
std::string schema_text();

/// FNV-1a, 64 bit: the same on every machine.
std::uint64_t hash_of(std::string_view text) noexcept;

/// The hash of schema_text().
std::uint64_t schema_hash();

/// A hash as it is stored: 16 hex digits.
std::string schema_hex(std::uint64_t hash);

/// {"schema": "<hash, 16 hex digits>", "knobs": {name: value}, "lane_weights": {lane: sixteenths}} of the knobs in
/// `has`; lanes of weight zero are left out.
nlohmann::json settings_to_json(const Settings& settings, KnobSet has);

/// The settings of which settings_to_json() makes such JSON. kInvalidArgument where the schema differs, or a knob in
/// `has` is missing, another one is there, or one is not an integer.
Result<Settings> settings_from_json(const nlohmann::json& json, KnobSet has);
/// The settings of a loader of this process, with or without the knobs of a device; knobs that are not there stand at
/// 0.
Result<Settings> thread_settings_from_json(const nlohmann::json& json);

}  // namespace drapps
