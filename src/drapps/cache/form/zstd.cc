#include <zstd.h>

#include "drapps/cache/form/compressor.h"

namespace drapps::cache {
namespace {

// Level 3 saves a twentieth of a photograph's bytes, and takes longer both ways.
constexpr int kLevel = 1;

struct FreeContext {
  void operator()(ZSTD_CCtx* context) const noexcept { ZSTD_freeCCtx(context); }
  void operator()(ZSTD_DCtx* context) const noexcept { ZSTD_freeDCtx(context); }
};

class Zstd final : public Compressor {
 public:
  explicit Zstd(MemoryLedger& ledger) : used_(&ledger) {}

  std::size_t compress(std::span<const std::uint8_t> in, std::span<std::uint8_t> out) override {
    if (pack_ == nullptr) pack_.reset(ZSTD_createCCtx());
    if (pack_ == nullptr) return 0;
    const std::size_t done = ZSTD_compressCCtx(pack_.get(), out.data(), in.size() - 1, in.data(), in.size(), kLevel);
    count();
    return ZSTD_isError(done) != 0 ? 0 : done;
  }
  bool decompress(std::span<const std::uint8_t> in, std::span<std::uint8_t> out) override {
    if (unpack_ == nullptr) {
      unpack_.reset(ZSTD_createDCtx());
      if (unpack_ == nullptr) return false;
      count();
    }
    return ZSTD_decompressDCtx(unpack_.get(), out.data(), out.size(), in.data(), in.size()) == out.size();
  }
  bool likes_differences() const noexcept override { return true; }

 private:
  void count() noexcept { used_.set_used(ZSTD_sizeof_CCtx(pack_.get()) + ZSTD_sizeof_DCtx(unpack_.get())); }

  MemoryLedger used_;
  std::unique_ptr<ZSTD_CCtx, FreeContext> pack_;
  std::unique_ptr<ZSTD_DCtx, FreeContext> unpack_;
};

}  // namespace

std::unique_ptr<Compressor> make_zstd(MemoryLedger& ledger) { return std::make_unique<Zstd>(ledger); }

}  // namespace drapps::cache
