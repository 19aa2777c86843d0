// Documents as the source of a pipeline: its records are the rows that they are packed into.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "drapps/source/permutation.h"
#include "drapps/source/source.h"
#include "drapps/text/corpus/corpus.h"

namespace drapps::text {

class TextSource final : public Source {
 public:
  /// Of a source that has no end: as many rows as an order can have.
  static constexpr std::uint64_t kEndless = Permutation::kMaxSize;

  /// @param corpora  one, or several that a mixture takes its rows from.
  /// @param rows     of an epoch.
  TextSource(std::vector<std::shared_ptr<const Corpus>> corpora, std::uint64_t rows)
      : Source(rows, Hint{}, {"text"}), corpora_(std::move(corpora)) {}

  /// A file, for who wants to know where the data lie: a row is of no place.
  Location locate(std::uint64_t index, RecordPart /*part*/) const noexcept override {
    const Corpus& corpus = *corpora_[index % corpora_.size()];
    return {.path = corpus.path(index / corpora_.size() % corpus.files()).c_str(), .bytes = {}};
  }
  std::string name(std::uint64_t index, RecordPart /*part*/) const override {
    return "row " + std::to_string(index) + " of the packed text";
  }
  const std::vector<std::shared_ptr<const Corpus>>& corpora() const noexcept { return corpora_; }

 private:
  const std::vector<std::shared_ptr<const Corpus>> corpora_;
};

}  // namespace drapps::text
