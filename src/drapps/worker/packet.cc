#include "drapps/worker/packet.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace drapps {
namespace {

constexpr std::uint64_t kAlignment = 64;

std::uint64_t aligned(std::uint64_t bytes) noexcept { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

/// The parts of a manifest, which is copied before it is looked at: whoever wrote it may still be writing.
Result<std::vector<ManifestPart>> read_parts(const BlockRegions& memory, std::uint64_t manifest, Manifest& head) {
  const auto in_front = memory.data_at(manifest, 0, sizeof(head));
  if (!in_front.ok()) return in_front.error();
  std::memcpy(&head, in_front->data.data(), sizeof(head));
  const auto behind = memory.data_at(manifest, sizeof(head), head.parts * sizeof(ManifestPart));
  if (!behind.ok()) return behind.error();
  std::vector<ManifestPart> parts(head.parts);
  if (!parts.empty()) std::memcpy(parts.data(), behind->data.data(), behind->data.size());
  return parts;
}

}  // namespace

Result<std::uint64_t> pack(BlockArena& arena, std::uint32_t kind, std::span<const Bytes> parts) {
  const BlockRegions& memory = *arena.memory();
  std::uint64_t bytes = aligned(sizeof(Manifest) + parts.size() * sizeof(ManifestPart));
  std::vector<ManifestPart> listed;  // block 0: to be copied
  listed.reserve(parts.size());
  for (const Bytes part : parts) {
    const auto block = arena.unsent_block_of(part);
    const auto offset = memory.offset_of(part.data());
    if (block && offset) {
      listed.push_back({*block, *offset - *block - sizeof(BlockHeader), part.size()});
    } else {
      listed.push_back({0, bytes, part.size()});
      bytes += aligned(part.size());
    }
  }
  const auto allocated = arena.allocate(bytes);
  if (!allocated.ok()) return allocated.error();
  const std::uint64_t manifest = *allocated;
  const auto mapped = memory.find(manifest);
  if (!mapped.ok()) return mapped.error();
  std::byte* data = mapped->data();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (listed[i].block != 0) continue;
    listed[i].block = manifest;
    if (!parts[i].empty()) std::memcpy(data + listed[i].start, parts[i].data(), parts[i].size());
  }
  const Manifest head{.kind = kind, .parts = static_cast<std::uint32_t>(parts.size())};
  std::memcpy(data, &head, sizeof(head));
  if (!listed.empty()) std::memcpy(data + sizeof(head), listed.data(), listed.size() * sizeof(ManifestPart));
  for (const ManifestPart& part : listed) arena.send(part.block);
  arena.send(manifest);
  memory.release_hold(*mapped, kMakerHold);
  return manifest;
}

Result<Packet> read_packet(const BlockRegions& memory, std::uint64_t manifest) {
  Manifest head{};
  const auto parts = read_parts(memory, manifest, head);
  if (!parts.ok()) return parts.error();
  Packet packet{.kind = head.kind};
  packet.parts.reserve(parts->size());
  for (const ManifestPart& part : *parts) {
    auto bytes = memory.data_at(part.block, part.start, part.bytes);
    if (!bytes.ok()) return std::move(bytes).error();
    packet.parts.push_back(*std::move(bytes));
  }
  return packet;
}

void append_blocks(const BlockRegions& memory, std::uint64_t manifest, std::vector<std::uint64_t>& blocks) {
  const auto first = static_cast<std::ptrdiff_t>(blocks.size());
  blocks.push_back(manifest);
  Manifest head{};
  if (const auto parts = read_parts(memory, manifest, head); parts.ok()) {
    for (const ManifestPart& part : *parts) blocks.push_back(part.block);
  }
  std::sort(blocks.begin() + first, blocks.end());
  blocks.erase(std::unique(blocks.begin() + first, blocks.end()), blocks.end());
}

void release_packet(const BlockRegions& memory, std::uint64_t manifest) {
  // All of it is read before any of it may be used again.
  std::vector<std::uint64_t> blocks;
  append_blocks(memory, manifest, blocks);
  for (const std::uint64_t block : blocks) memory.release_hold(block, kSentHold);
}

}  // namespace drapps
