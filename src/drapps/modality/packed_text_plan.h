// What a checked description of packed text comes to.
#pragma once

#include <cstddef>
#include <memory>

#include "drapps/modality/packed_text.h"
#include "drapps/text/corpus/text_source.h"

namespace drapps {

/// What the fields say of packing; the order is that of a pass, and splits those of a source.
text::Packing packing_of(const PackedTextFields& fields);

/// How many splits there may be: Corpus::most_splits(), or one for each row of ids.
std::uint64_t most_splits_of(const text::TextSet& set, const PackedTextFields& fields);

/// Requires a description that fits the source, as PackedTextPart::plan() finds it.
std::shared_ptr<PartPlan> make_packed_text_plan(std::size_t place, const PackedTextPart& part,
                                                const text::TextSource& source);

}  // namespace drapps
