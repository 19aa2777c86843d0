// Many numbers of which most are what they were: each as its difference to the one before, runs that did not change as
// their length.
//
//     token = 0, run − 1      so many numbers are what they were
//     token > 0               zig-zag of the difference, modulo 2^64
//
// A quantile is the upper edge of a histogram's bucket (base/histogram.h), and is told by that:
//
//     token = 1, number       no such edge: the number itself
//     token > 1               the edge of bucket token − 2
#pragma once

#include <cstdint>
#include <span>

#include "drapps/trace/bytes.h"

namespace drapps::trace {

enum class Coding : std::uint8_t { kDifference, kEdge };

/// @param before  the words before, as many as `now`; become `now`.
/// @param codings  one for each of them; empty: all are differences.
void put_words(Bytes& out, std::span<const std::uint64_t> now, std::span<std::uint64_t> before,
               std::span<const Coding> codings = {});

/// @param words  the words before; become the words that were put.
void take_words(ByteCursor& in, std::span<std::uint64_t> words, std::span<const Coding> codings = {});

}  // namespace drapps::trace
