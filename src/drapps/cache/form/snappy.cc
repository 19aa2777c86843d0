#include <snappy-c.h>

#include <cstring>

#include "drapps/cache/form/compressor.h"
#include "drapps/data/buffer.h"

namespace drapps::cache {
namespace {

class Snappy final : public Compressor {
 public:
  explicit Snappy(MemoryLedger& ledger) : wide_(ledger) {}

  std::size_t compress(std::span<const std::uint8_t> in, std::span<std::uint8_t> out) override {
    // It writes to memory for its worst case alone.
    std::size_t done = snappy_max_compressed_length(in.size());
    if (!wide_.ensure(done).ok()) return 0;
    const auto status = snappy_compress(reinterpret_cast<const char*>(in.data()), in.size(),
                                        reinterpret_cast<char*>(wide_.data()), &done);
    if (status != SNAPPY_OK || done >= in.size()) return 0;
    std::memcpy(out.data(), wide_.data(), done);
    return done;
  }
  bool decompress(std::span<const std::uint8_t> in, std::span<std::uint8_t> out) override {
    const char* const from = reinterpret_cast<const char*>(in.data());
    std::size_t bytes = 0;
    if (snappy_uncompressed_length(from, in.size(), &bytes) != SNAPPY_OK || bytes != out.size()) return false;
    return snappy_uncompress(from, in.size(), reinterpret_cast<char*>(out.data()), &bytes) == SNAPPY_OK;
  }
  bool likes_differences() const noexcept override { return false; }

 private:
  Buffer wide_;
};

}  // namespace

std::unique_ptr<Compressor> make_snappy(MemoryLedger& ledger) { return std::make_unique<Snappy>(ledger); }

}  // namespace drapps::cache
