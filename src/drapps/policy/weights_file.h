// Weights of learned policies as files, each named by its content: "<hash>.weights", where the hash is XXH3-128 (Y.
// Collet, xxHash 0.8) in hexadecimal. A file whose content does not have the hash of its name is refused; so processes
// need no locks.
//
//   const KeptWeights kept(folder);
//   DRAPPS_RETURN_IF_ERROR(kept.keep(weights));
//   const std::vector<std::byte> latest = kept.latest();  // the latest of any process
//
// A file appears whole or not at all, and none that is there is written again.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "drapps/base/result.h"

namespace drapps {

/// The hash, 32 digits.
std::string weights_hash(std::span<const std::byte> weights);

/// Writes weights to a folder, where they are not there already. kIo, kPermission or kNotFound where they cannot be
/// written: nothing of them is there then.
Status put_weights(const std::string& folder, std::span<const std::byte> weights);

/// kNotFound where there is no such file, kCorrupt where it holds something else.
Result<std::vector<std::byte>> get_weights(const std::string& folder, std::string_view hash);

/// A folder in which the latest weights of one pipeline are kept, by any number of processes.
class KeptWeights {
 public:
  static constexpr std::size_t kMost = 8;  // that are kept

  explicit KeptWeights(std::string folder) : folder_(std::move(folder)) {}
  const std::string& folder() const noexcept { return folder_; }

  /// The latest that is whole, or empty where there is none.
  std::vector<std::byte> latest() const;
  /// Makes the folder, and lets go of the oldest where there are more than kMost. Errors as put_weights().
  Status keep(std::span<const std::byte> weights) const;
  /// The weights of this hash are not to be begun with again.
  void withdraw(std::string_view hash) const noexcept;

 private:
  std::string folder_;
};

}  // namespace drapps
