// Our decoder against libjpeg-turbo: for any bytes the same verdict and the same pixels, whole and in parts, at every
// SIMD level, without an index and with what a store remembers from part to part. An input that is no JPEG is the
// entropy-coded data of one (jpeg_scan.h).
#include <array>
#include <cstdio>
#include <string>

#include "decode_target.h"
#include "drapps/decode/jpeg/index_memory.h"
#include "drapps/decode/jpeg/reader_testing.h"
#include "jpeg_scan.h"

namespace drapps::fuzz {
namespace {

/// A store in memory whose grain does not depend on its budget.
class Store final : public jpeg::IndexStore {
 public:
  explicit Store(bool fine) : memory_(MemoryLedger::unlimited(), 1, 1 << 20), fine_(fine) {}

  std::uint32_t group(std::uint32_t mcus_across, std::uint32_t) const noexcept override {
    return fine_ ? 8 : mcus_across;
  }
  bool get(const jpeg::IndexKey& key, jpeg::ScanIndex& index) override { return memory_.get(key, index); }
  void offer(const jpeg::IndexKey& key, const jpeg::IndexShape& shape,
             std::span<const jpeg::IndexEntry> entries) override {
    memory_.offer(key, shape, entries);
  }
  std::size_t bytes() const noexcept override { return memory_.bytes(); }

 private:
  jpeg::MemoryIndexStore memory_;
  bool fine_;
};

void require_same(const std::string& difference) {
  if (!difference.empty()) std::fprintf(stderr, "%s\n", difference.c_str());
  require(difference.empty());
}

void compare(std::span<const std::uint8_t> bytes) {
  static jpeg::testing::Twins twins;
  static Store fine(true), rows(false);
  static jpeg::IndexKey key;
  Choice choice(bytes);
  if (!twins.open(bytes, choice.below(4) == 0 ? 1 : 3, 1 << 16)) return;
  std::array<Rect, 3> regions{};
  for (Rect& region : regions) {
    region = jpeg::testing::any_region(twins.info().stored,
                                       [&](int low, int high) { return low + choice.below(high - low + 1); });
    require_same(twins.compare_turbo(region));
  }
  regions[1] = twins.all();
  for (std::size_t level = 0; level < twins.levels(); ++level) {
    ++key.identity.size;  // another file, of which nothing is known
    for (const Rect& region : regions) {
      require_same(twins.compare(level, region));
      require_same(twins.compare(level, region, &fine, key));
      require_same(twins.compare(level, region, &rows, key));
    }
  }
}

}  // namespace
}  // namespace drapps::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return -1;
  if (data[0] != 0xFF || data[1] != 0xD8) {
    drapps::fuzz::compare(drapps::fuzz::file_of_scan({data, size}));
    return 0;
  }
  drapps::fuzz::compare({data, size});
  return drapps::fuzz::try_bytes(drapps::ImageFormat::kJpeg, {data, size});
}
