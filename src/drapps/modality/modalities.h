// Modalities by name. Every function may be called from any thread, and in a child of a fork.
#pragma once

#include <string_view>

#include "drapps/modality/modality.h"

namespace drapps {

/// Makes a modality known to this process, besides those of the library. A name that is known already keeps its own.
void register_modality(const Modality& modality);

/// Null where none has the name.
const Modality* find_modality(std::string_view name) noexcept;

}  // namespace drapps
