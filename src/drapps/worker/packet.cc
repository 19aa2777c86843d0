#include "drapps/worker/packet.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace drapps {
namespace {

constexpr std::uint64_t kAlignment = 64;

std::uint64_t aligned(std::uint64_t bytes) noexcept { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

ManifestPart* parts_of(const Memory& memory, std::uint64_t manifest) noexcept {
  return reinterpret_cast<ManifestPart*>(memory.data_of(manifest) + sizeof(Manifest));
}

}  // namespace

Result<std::uint64_t> pack(BlockArena& arena, std::uint32_t kind, std::span<const Bytes> parts) {
  const Memory& memory = *arena.memory();
  std::uint64_t bytes = aligned(sizeof(Manifest) + parts.size() * sizeof(ManifestPart));
  std::vector<ManifestPart> listed;  // block 0: to be copied
  listed.reserve(parts.size());
  for (const Bytes part : parts) {
    if (const auto block = arena.unsent_block_of(part)) {
      listed.push_back({*block, memory.offset_of(part.data()) - *block - sizeof(BlockHeader), part.size()});
    } else {
      listed.push_back({0, bytes, part.size()});
      bytes += aligned(part.size());
    }
  }
  const auto allocated = arena.allocate(bytes);
  if (!allocated.ok()) return allocated.error();
  const std::uint64_t manifest = *allocated;
  std::byte* data = memory.data_of(manifest);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (listed[i].block != 0) continue;
    listed[i].block = manifest;
    if (!parts[i].empty()) std::memcpy(data + listed[i].start, parts[i].data(), parts[i].size());
  }
  const Manifest head{.kind = kind, .parts = static_cast<std::uint32_t>(parts.size())};
  std::memcpy(data, &head, sizeof(head));
  if (!listed.empty()) std::memcpy(parts_of(memory, manifest), listed.data(), listed.size() * sizeof(ManifestPart));
  for (const ManifestPart& part : listed) arena.send(part.block);
  arena.send(manifest);
  drop_hold(memory, manifest, kMakerHold);
  return manifest;
}

Packet read_packet(const Memory& memory, std::uint64_t manifest) noexcept {
  Manifest head{};
  std::memcpy(&head, memory.data_of(manifest), sizeof(head));
  return {.kind = head.kind, .parts = {parts_of(memory, manifest), head.parts}};
}

void append_blocks(const Memory& memory, std::uint64_t manifest, std::vector<std::uint64_t>& blocks) {
  const auto first = static_cast<std::ptrdiff_t>(blocks.size());
  blocks.push_back(manifest);
  for (const ManifestPart& part : read_packet(memory, manifest).parts) blocks.push_back(part.block);
  std::sort(blocks.begin() + first, blocks.end());
  blocks.erase(std::unique(blocks.begin() + first, blocks.end()), blocks.end());
}

void drop_packet(const Memory& memory, std::uint64_t manifest) {
  // All of it is read before any of it may be used again.
  std::vector<std::uint64_t> blocks;
  append_blocks(memory, manifest, blocks);
  for (const std::uint64_t block : blocks) drop_hold(memory, block, kSentHold);
}

}  // namespace drapps
