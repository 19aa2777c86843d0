// For tests: a tokenizer without files.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "drapps/text/ranks.h"
#include "drapps/text/tokenizer.h"

namespace drapps::text {

/// Every byte is an id.
inline std::shared_ptr<const Tokenizer> byte_tokenizer() {
  std::vector<std::string> bytes;
  for (int i = 0; i < 256; ++i) bytes.emplace_back(1, static_cast<char>(i));
  std::vector<TokenBytes> ranks;
  for (int i = 0; i < 256; ++i) ranks.push_back({bytes[static_cast<std::size_t>(i)], i});
  auto parts =
      parts_of_ranks(ranks, R"('(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s)", {});
  return std::make_shared<Tokenizer>(*std::move(parts));
}

}  // namespace drapps::text
