#include "drapps/text/documents.h"

#include <cstring>

namespace drapps::text {

Documents find_documents(std::string_view text, std::string_view separator) {
  Documents documents;
  for (std::size_t begin = 0; begin < text.size();) {
    const void* const place = memmem(text.data() + begin, text.size() - begin, separator.data(), separator.size());
    const std::size_t end =
        place == nullptr ? text.size() : static_cast<std::size_t>(static_cast<const char*>(place) - text.data());
    documents.begins.push_back(static_cast<std::int64_t>(begin));
    documents.ends.push_back(static_cast<std::int64_t>(end));
    if (place == nullptr) break;
    begin = end + separator.size();
  }
  return documents;
}

}  // namespace drapps::text
