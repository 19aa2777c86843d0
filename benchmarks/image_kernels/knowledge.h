// What indexes of scans are known when an epoch begins, as often as one begins.
#pragma once

#include <cstdint>
#include <memory>

#include "benchmarks/image_kernels/pictures.h"
#include "drapps/decode/jpeg/index_memory.h"

namespace drapps::bench {

/// 8 MCUs an entry, or a row of them: what a store chooses whose budget is ample, or too small for the former.
enum class Grain : std::uint8_t { kFine, kRows };

class Knowledge {
 public:
  /// Nothing is known, as in a first epoch.
  Knowledge(const PhotoSet& photos, Grain grain);

  /// Goes through so many epochs. From then on every epoch begins with what they gave.
  /// Returns what was known after each of them.
  json learn(std::uint32_t epochs);

  /// From now on every epoch begins with what `other`, of the same files, has learnt.
  void learn_from(const Knowledge& other);

  /// Begins an epoch: whatever was offered in the last is forgotten.
  void restart();

  /// The store of the epoch at hand, a real one: what is offered to it is kept. Holds until the next restart().
  jpeg::IndexStore& store() { return *store_; }

 private:
  std::shared_ptr<jpeg::MemoryIndexStore> make_store() const;

  const PhotoSet& photos_;
  const Grain grain_;
  std::shared_ptr<const jpeg::MemoryIndexStore> learnt_;
  std::shared_ptr<jpeg::MemoryIndexStore> store_;
};

}  // namespace drapps::bench
