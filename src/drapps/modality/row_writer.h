// A row of ids becomes its row of each column of a batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "drapps/base/philox.h"
#include "drapps/modality/columns.h"
#include "drapps/modality/packed_text.h"
#include "drapps/text/pack/packer.h"

namespace drapps {

/// What else is known of a row.
struct RowOrigin {
  std::uint32_t source = 0;
  Coordinate draws;  // of its masks
};

/// Immutable.
class RowWriter {
 public:
  virtual ~RowWriter() = default;
  /// @param layout  what the columns were added to, or a copy.
  virtual void write(const text::PackedRow& packed, const RowOrigin& origin, const BatchLayout& layout, std::byte* slot,
                     std::uint32_t row) const = 0;
  /// Whether finish() does anything.
  virtual bool finishes() const noexcept { return false; }
  /// Finishes a batch, once all its rows are written.
  virtual void finish(const BatchLayout& /*layout*/, std::byte* /*slot*/, std::uint32_t /*rows*/) const {}
};

/// Adds the columns that the description asks for, and gives what fills them.
/// @param sources  that rows come from; with several a row's is a column, int32, too.
std::unique_ptr<const RowWriter> make_row_writer(const PackedTextPart& part, std::size_t sources, BatchLayout& layout);

/// A row of a column of T.
template <class T>
T* numbers_at(const BatchLayout& layout, std::byte* slot, std::size_t column, std::uint32_t row) {
  return reinterpret_cast<T*>(layout.row(slot, column, row));
}

}  // namespace drapps
