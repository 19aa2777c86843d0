// Documents that a Python function reads.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "drapps/text/corpus/document_reader.h"

namespace drapps {

/// @param read  from path and number of a block to an iterator of (bytes, offsets), two arrays of uint8 and int64.
std::shared_ptr<const text::ForeignDocuments> python_documents(const nanobind::object& read);

}  // namespace drapps
