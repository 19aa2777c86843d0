// Files of token ids as Python holds them.
#pragma once

#include <memory>

#include "drapps/text/tokens/token_set.h"

namespace drapps {

struct SharedTokenSet {
  std::shared_ptr<const text::TokenSet> set;
};

}  // namespace drapps
