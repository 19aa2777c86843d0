#include "drapps/source/source.h"

#include <algorithm>
#include <utility>

namespace drapps {
Source::Source(std::uint64_t size, std::vector<std::string> parts, Targets targets)
    : size_(size),
      parts_(std::move(parts)),
      targets_(std::move(targets)),
      memory_(std::make_unique<HintMemory[]>(size)) {}

Source::Source(std::uint64_t size, const Hint& each, std::vector<std::string> parts)
    : size_(size), parts_(std::move(parts)), each_(each) {}

std::optional<RecordPart> Source::part_named(std::string_view name) const noexcept {
  const auto part = std::ranges::find(parts_, name);
  if (part == parts_.end()) return std::nullopt;
  return static_cast<RecordPart>(part - parts_.begin());
}

std::string Source::first_path() const {
  const char* const path = size() == 0 ? nullptr : locate(0, kFirstPart).path;
  return path == nullptr ? "" : path;
}

StorageIdentity Source::storage_identity() const {
  const std::string path = first_path();
  return path.empty() ? StorageIdentity{.kind = "memory"} : storage().describe(path);
}

BoxRange Source::boxes(std::uint64_t index) const noexcept {
  if (!targets_.has_boxes()) return {};
  const std::uint64_t first = targets_.box_offsets[index];
  const std::uint64_t count = targets_.box_offsets[index + 1] - first;
  return {std::span(targets_.boxes).subspan(first, count), std::span(targets_.box_labels).subspan(first, count)};
}

Hint Source::hint(std::uint64_t index) const noexcept {
  if (memory_ == nullptr) return each_;
  const HintMemory& memory = memory_[index];
  return {memory.bytes.load(std::memory_order_relaxed), memory.work.load(std::memory_order_relaxed)};
}

void Source::remember_bytes(std::uint64_t index, std::uint64_t bytes) noexcept {
  if (memory_ != nullptr) memory_[index].bytes.store(Hint::saturated(bytes), std::memory_order_relaxed);
}

void Source::remember_work(std::uint64_t index, std::uint64_t units) noexcept {
  if (memory_ != nullptr) memory_[index].work.store(Hint::saturated(units), std::memory_order_relaxed);
}

}  // namespace drapps
