// Documents of a text file.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace drapps::text {

/// Where documents begin and end, without what stands between them.
struct Documents {
  std::vector<std::int64_t> begins;
  std::vector<std::int64_t> ends;
};

/// The documents that `separator`, which is not empty, holds apart. At the end of the text it begins no other.
Documents find_documents(std::string_view text, std::string_view separator);

}  // namespace drapps::text
