// The bytes of a sample: its source says where they lie, and a reader gets them.
#pragma once

#include <functional>

#include "drapps/base/result.h"
#include "drapps/modality/modality.h"

namespace drapps {

/// Says where the parts of the sample's record lie, for a reader.
void ask(Sample& sample) noexcept;

/// Asks for a sample's bytes, and answers where they are kept. False where a reader is to be asked.
bool ask_keeper(Sample& sample) noexcept;

/// Notes in the source what was learnt of a record that was read.
void remember(const Sample& sample) noexcept;

/// Reads all of a sample in this thread, from what is kept or blocking. An error names the sample and the file.
/// @param stopped  asked while a storage refuses or stalls: true ends that with kCancelled.
Status fetch_now(Sample& sample, const std::function<bool()>& stopped);

}  // namespace drapps
