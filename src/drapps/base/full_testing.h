// Whether the tests run in full: `make test-full` has longer loops and whole matrices.
//   const int files = full_tests() ? 8'000 : 500;
#pragma once

#include <cstdlib>

namespace drapps {

inline bool full_tests() { return std::getenv("DRAPPS_TEST_FULL") != nullptr; }  // NOLINT(concurrency-mt-unsafe)

}  // namespace drapps
