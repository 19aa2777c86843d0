// What kind of file this is, by its first bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "drapps/base/result.h"
#include "drapps/decode/types.h"

namespace drapps {

/// The format of a picture that a decoder here reads. kTruncated for an empty file or a piece of a signature,
/// kUnsupported for anything else; the message names what it looks like.
Result<ImageFormat> sniff(std::span<const std::uint8_t> bytes);

/// What a file looks like that no decoder here reads, such as "a GIF" or "text".
std::string_view looks_like(std::span<const std::uint8_t> bytes);

}  // namespace drapps
