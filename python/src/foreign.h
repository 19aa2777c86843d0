// A Python function that reads pictures for the core's workers.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "drapps/decode/foreign.h"

namespace drapps {

/// `read` takes the bytes of a file and gives pixels, uint8 of shape (height, width, 3), or a str that says why not.
std::shared_ptr<const ForeignReader> foreign_reader(const nanobind::object& read);

}  // namespace drapps
