#include <lz4.h>

#include "drapps/cache/form/compressor.h"

namespace drapps::cache {
namespace {

/// The fast one: LZ4HC saves a twelfth of a photograph's bytes and takes twice as long to undo.
class Lz4 final : public Compressor {
 public:
  std::size_t compress(std::span<const std::uint8_t> in, std::span<std::uint8_t> out) override {
    const int done = LZ4_compress_default(reinterpret_cast<const char*>(in.data()), reinterpret_cast<char*>(out.data()),
                                          static_cast<int>(in.size()), static_cast<int>(in.size()) - 1);
    return done > 0 ? static_cast<std::size_t>(done) : 0;
  }
  bool decompress(std::span<const std::uint8_t> in, std::span<std::uint8_t> out) override {
    const int done = LZ4_decompress_safe(reinterpret_cast<const char*>(in.data()), reinterpret_cast<char*>(out.data()),
                                         static_cast<int>(in.size()), static_cast<int>(out.size()));
    return done >= 0 && static_cast<std::size_t>(done) == out.size();
  }
  bool likes_differences() const noexcept override { return false; }
};

}  // namespace

std::unique_ptr<Compressor> make_lz4() { return std::make_unique<Lz4>(); }

}  // namespace drapps::cache
