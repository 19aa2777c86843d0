#include "drapps/cache/keeper.h"

#include <gtest/gtest.h>

#include <array>
#include <new>

namespace drapps::cache {
namespace {

/// Notes what it is asked to keep, and has no memory for it.
class FullKeeper final : public Keeper {
 public:
  int asked = 0;
  int successes = 0;

  bool knows(std::uint64_t) noexcept override { return false; }
  bool find(const KeepRequest&) noexcept override { return false; }
  FormId form(RecordPart) const noexcept override { return FormId::kRaw; }
  bool wants(const KeepRequest&, RecordPart, std::size_t) const noexcept override { return true; }
  void decoded(const KeepRequest&) override {}

 private:
  void keep(const KeepRequest&, RecordPart, std::span<const std::uint8_t>, const Making& making) override {
    ++asked;
    successes += making.success ? 1 : 0;
    throw std::bad_alloc();
  }
};

TEST(Keeper, ALackOfMemoryIsNoFailureOfTheSample) {
  ReadRequest read;
  Kept kept;
  FullKeeper keeper;
  const std::array<std::uint8_t, 3> bytes{1, 2, 3};
  const KeepRequest request{.record = 1, .read = read, .kept = kept};
  EXPECT_NO_THROW(keeper.offer(request, kFirstPart, 0, [&] {
    return Result<std::span<const std::uint8_t>>(std::span<const std::uint8_t>(bytes));
  }));
  EXPECT_EQ(keeper.asked, 1);
  EXPECT_EQ(keeper.successes, 1);
  EXPECT_NO_THROW(
      keeper.offer(request, kFirstPart, 0, []() -> Result<std::span<const std::uint8_t>> { throw std::bad_alloc(); }));
  EXPECT_EQ(keeper.asked, 2);
  EXPECT_EQ(keeper.successes, 1);
}

}  // namespace
}  // namespace drapps::cache
