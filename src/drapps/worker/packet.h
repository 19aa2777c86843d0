// A result on its way: a kind and parts, in blocks of the region of the process that made it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "drapps/base/result.h"
#include "drapps/worker/arena.h"

namespace drapps {

using Bytes = std::span<const std::byte>;

/// Writes a result and gives its manifest's block, held as sent. A part that lies in a block of this process that was
/// never sent goes by reference; all others are copied into the manifest's block, each aligned to 64 bytes.
Result<std::uint64_t> pack(BlockArena& arena, std::uint32_t kind, std::span<const Bytes> parts);

/// What a manifest says. The views are good while the manifest's block is.
struct Packet {
  std::uint32_t kind;
  std::span<const ManifestPart> parts;
};
Packet read_packet(const Memory& memory, std::uint64_t manifest) noexcept;

/// The memory of one part.
inline std::span<std::byte> data_of(const Memory& memory, const ManifestPart& part) noexcept {
  return {memory.data_of(part.block) + part.start, part.bytes};
}

/// Appends each block that a result is made of, each once, its manifest's included.
void append_blocks(const Memory& memory, std::uint64_t manifest, std::vector<std::uint64_t>& blocks);

/// Lets go of a result: its blocks are no longer held as sent.
void drop_packet(const Memory& memory, std::uint64_t manifest);

}  // namespace drapps
