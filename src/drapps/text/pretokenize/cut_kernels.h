// The cutting of text, one set of functions per SIMD level. For cut.cc and its tests.
#pragma once

#include "drapps/text/pretokenize/cut.h"

namespace drapps::text {

/// A Cut for each pattern; null where the level below has it.
struct CutKernels {
  Cut gpt2;
  Cut cl100k;
  Cut cl100k_tail;
  Cut qwen2;
  Cut o200k;
  Cut tekken;
  Cut deepseek;
};

extern const CutKernels kCutPortable;  // the reference: one match after the other
extern const CutKernels kCutAvx2;
extern const CutKernels kCutAvx512;

}  // namespace drapps::text
