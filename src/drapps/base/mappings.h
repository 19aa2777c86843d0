// Why the system maps no more memory into a process.
#pragma once

#include <cstdint>
#include <string>

namespace drapps {

/// What to do where mmap was refused: raise the limit on mappings where this process has as many as it may have, else
/// that on address space. Allocates nothing.
/// @param root  below which /proc is looked for.
const char* more_address_space(const char* root = "") noexcept;

}  // namespace drapps
