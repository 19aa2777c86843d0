// Documents, and ids of some that were tokenised before, as the source of a pipeline: its records are the rows that
// they become.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "drapps/source/permutation.h"
#include "drapps/source/source.h"
#include "drapps/text/corpus/corpus.h"
#include "drapps/text/tokens/token_set.h"

namespace drapps::text {

/// What a mixture takes a share of its rows from: documents, or ids.
struct TextSet {
  std::shared_ptr<const Corpus> corpus;    // or null
  std::shared_ptr<const TokenSet> tokens;  // where there is no corpus

  std::size_t files() const noexcept { return corpus != nullptr ? corpus->files() : tokens->files(); }
  const std::string& path(std::size_t file) const noexcept {
    return corpus != nullptr ? corpus->path(file) : tokens->path(file);
  }
};

class TextSource final : public Source {
 public:
  /// The rows of a source that has no end: as many as an order can have.
  static constexpr std::uint64_t kEndless = Permutation::kMaxSize;

  /// @param sets  one, or several that a mixture takes its rows from.
  /// @param rows  of an epoch.
  TextSource(std::vector<TextSet> sets, std::uint64_t rows) : Source(rows, Hint{}, {"text"}), sets_(std::move(sets)) {}

  /// A file, for who wants to know where the data lie: a row is of no place.
  Location locate(std::uint64_t index, RecordPart /*part*/) const noexcept override {
    const TextSet& set = sets_[index % sets_.size()];
    return {.path = set.path(index / sets_.size() % set.files()).c_str(), .bytes = {}};
  }
  std::string name(std::uint64_t index, RecordPart /*part*/) const override {
    return "row " + std::to_string(index) + " of the packed text";
  }
  const std::vector<TextSet>& sets() const noexcept { return sets_; }

 private:
  const std::vector<TextSet> sets_;
};

}  // namespace drapps::text
