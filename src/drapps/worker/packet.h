// A result on its way: a kind and parts, in blocks of the region of the process that made it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "drapps/base/result.h"
#include "drapps/shm/block_arena.h"
#include "drapps/worker/layout.h"

namespace drapps {

using Bytes = std::span<const std::byte>;

/// Writes a result and gives its manifest's block, held as sent. A part that lies in a block of this process that was
/// never sent goes by reference; all others are copied into the manifest's block, each aligned to 64 bytes.
Result<std::uint64_t> pack(BlockArena& arena, std::uint32_t kind, std::span<const Bytes> parts);

/// What a manifest says.
struct Packet {
  std::uint32_t kind = 0;
  std::vector<BlockBytes> parts;
};
/// kCorrupt where the manifest, or a part of it, is not in any block; kResourceExhausted where it cannot be mapped.
Result<Packet> read_packet(const BlockRegions& memory, std::uint64_t manifest);

/// Appends each block that a result is made of, each once, its manifest's included; of a corrupt one, what there is.
void append_blocks(const BlockRegions& memory, std::uint64_t manifest, std::vector<std::uint64_t>& blocks);

/// Releases a result: its blocks are no longer held as sent.
void release_packet(const BlockRegions& memory, std::uint64_t manifest);

}  // namespace drapps
