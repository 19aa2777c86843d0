// What reads the index of token ids must hold for any bytes at all: no fault, errors that say what is wrong, and of a
// good index documents that ascend within the ids.
#include <cstdlib>

#include "drapps/text/tokens/megatron_index.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace drapps;
  const auto require = [](bool holds) {
    if (!holds) std::abort();
  };
  FileWindow plain(std::span(data, size));
  FileWindow again(std::span(data, size));
  const auto without = text::read_megatron_index(plain, false);
  const auto index = text::read_megatron_index(again, true);
  require(without.ok() == index.ok());
  if (!index.ok()) {
    require(!index.error().message.empty() && index.error().offset >= 0);
    return 0;
  }
  require(without->documents.empty() && without->ids == index->ids);
  std::uint64_t behind = 0;
  for (const std::uint64_t document : index->documents) {
    require(document >= behind && document < index->ids);
    behind = document + 1;
  }
  return 0;
}
