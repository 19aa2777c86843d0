// What passes learn of records that makes it cheaper to prepare them again.
#pragma once

#include <cstddef>
#include <cstdint>

namespace drapps {

/// How much of what can be learned of a record was known when it was prepared.
enum class Learned : std::uint8_t { kNothing, kPart, kAll };

/// What is learned of the records of one source, in a way of its modality's own. All members may be called from any
/// thread.
class LearnedStore {
 public:
  virtual ~LearnedStore() = default;
  /// Whether all of the record is known.
  virtual bool knows_all(std::uint64_t /*record*/) const noexcept { return false; }
  /// Memory in use.
  virtual std::size_t bytes() const noexcept = 0;
};

}  // namespace drapps
