// What a device needs to make a part of the samples: of rows of an array, or of rows that a batch carries there as
// bytes.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "drapps/augment/picture/op.h"
#include "drapps/augment/picture/trail.h"
#include "drapps/batch/mix.h"
#include "drapps/batch/row.h"
#include "drapps/data/picture.h"
#include "drapps/modality/modality.h"

namespace drapps {

/// The part's column, of the pictures of an array.
struct DevicePart {
  std::size_t column = 0;                 // in the layout
  const PictureWriter* writer = nullptr;  // of its rows
  const Mixer* mixer = nullptr;           // of whole batches, or none
  std::size_t mix_draws = 0;              // with which of the part's draws it draws
};

/// A part whose pictures lie in the batches of the host as bytes, planes one after another, before they are normalised,
/// cast and laid out, erased or mixed: a device does all that.
struct CarriedPart {
  std::shared_ptr<PartPlan> part;
  DevicePart finished;       // of the part that this one stands in for; its column has the same place in both
  std::size_t erasures = 0;  // that a row has at most, which the last column of the carrying batch holds; see below
};

/// Bytes of a row that holds so many erasures at most.
constexpr std::size_t erasures_bytes(std::size_t most) noexcept {
  return sizeof(std::uint64_t) + most * sizeof(Erasure);
}
/// Fills a row, erasures_bytes() long, with erasures.
void write_erasures(std::span<const Erasure> erasures, std::byte* row) noexcept;
/// The erasures that write_erasures() has put in a row.
void read_erasures(const std::byte* row, std::vector<Erasure>& erasures);

}  // namespace drapps
