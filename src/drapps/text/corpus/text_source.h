// Documents as the source of a pipeline: its records are the rows that they are packed into.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "drapps/source/permutation.h"
#include "drapps/source/source.h"
#include "drapps/text/corpus/corpus.h"

namespace drapps::text {

class TextSource final : public Source {
 public:
  /// Of a source that has no end: as many rows as an order can have.
  static constexpr std::uint64_t kEndless = Permutation::kMaxSize;

  /// @param rows  of an epoch.
  TextSource(std::shared_ptr<const Corpus> corpus, std::uint64_t rows)
      : Source(rows, Hint{}, {"text"}), corpus_(std::move(corpus)) {}

  /// A file, for who wants to know where the data lie: a row is of no place.
  Location locate(std::uint64_t index, RecordPart /*part*/) const noexcept override {
    return {.path = corpus_->path(index % corpus_->files()).c_str(), .bytes = {}};
  }
  std::string name(std::uint64_t index, RecordPart /*part*/) const override {
    return "row " + std::to_string(index) + " of the packed text";
  }
  const std::shared_ptr<const Corpus>& corpus() const noexcept { return corpus_; }

 private:
  const std::shared_ptr<const Corpus> corpus_;
};

}  // namespace drapps::text
