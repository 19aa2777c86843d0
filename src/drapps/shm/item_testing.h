// What the tests of ItemCache share: items that tell whether they are whole, and processes that make them.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <thread>

#include "drapps/shm/item_cache.h"

namespace drapps::item_testing {

inline constexpr std::chrono::seconds kPatient{60};

/// A size that is the same in every process: log-normal, from 24 bytes on.
inline std::uint64_t size_of(std::uint64_t index) {
  std::mt19937_64 random(index);
  std::lognormal_distribution<double> sizes(6, 1.5);
  return 24 + static_cast<std::uint64_t>(std::min(sizes(random), 1e6));
}

/// FNV-1a, over words.
inline std::uint64_t checksum(std::span<const std::byte> bytes) {
  std::uint64_t sum = 0xcbf29ce484222325;
  for (; bytes.size() >= 8; bytes = bytes.subspan(8)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), 8);
    sum = (sum ^ word) * 0x100000001b3;
  }
  for (const std::byte byte : bytes) sum = (sum ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3;
  return sum;
}

/// An item: its index, a checksum of the rest, bytes that are drawn.
inline void write_item(std::span<std::byte> room, std::uint64_t index, std::uint64_t draw) {
  std::mt19937_64 random(draw);
  for (std::size_t i = 16; i < room.size(); ++i) room[i] = static_cast<std::byte>(i % 8 == 0 ? random() : i * draw);
  const std::uint64_t sum = checksum(room.subspan(16));
  std::memcpy(room.data(), &index, 8);
  std::memcpy(room.data() + 8, &sum, 8);
}

inline bool is_whole(std::span<const std::byte> item, std::uint64_t index) {
  std::uint64_t head[2] = {};
  if (item.size() != size_of(index)) return false;
  std::memcpy(head, item.data(), sizeof(head));
  return head[0] == index && head[1] == checksum(item.subspan(16));
}

/// Whether this process has made and kept the item.
inline bool make_item(ItemCache& cache, std::uint64_t index, std::chrono::nanoseconds patience = kPatient) {
  if (cache.claim(index, patience) != ItemClaim::kTaken) return false;
  const auto room = cache.begin(index, size_of(index));
  if (!room.ok() || !room->has_value()) return false;
  write_item(**room, index, index * 7 + 1);
  return cache.publish(index).ok();
}

/// Bytes of all items that are there, as the budget counts them.
inline std::uint64_t kept_bytes(const ItemCache& cache) {
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < cache.items(); ++i) {
    if (const auto item = cache.get(i)) sum += round_up(item->size(), kItemAlignment);
  }
  return sum;
}

/// Starts `work`, whose value is the exit status, in a forked process.
template <class Work>
pid_t start(const Work& work) {
  const pid_t child = fork();
  if (child == 0) _exit(work());
  return child;
}

inline int wait_for(pid_t child) {
  int status = -1;
  while (waitpid(child, &status, 0) != child) std::this_thread::yield();
  return status;
}

}  // namespace drapps::item_testing
