// The intrinsics, for *_avx512.cc and *_avx512vbmi.cc only.
#pragma once

// GCC 12 warns about the deliberately undefined operands in its own header (its bug 105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>
