#include "drapps/storage/shard.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "drapps/base/unique_handle.h"

namespace drapps {
namespace {

bool open_and_keep(Shard& shard) {
  UniqueHandle file(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!shard.keep(file.get())) return false;
  static_cast<void>(file.release());
  return true;
}

TEST(Shard, TheLastPlaceIsFreeForWhoComesWhileAnotherIsRefused) {
  std::vector<Shard> kept(static_cast<std::size_t>(kept_shards_limit()) - 1);
  for (Shard& shard : kept) EXPECT_TRUE(open_and_keep(shard));
  const std::jthread again([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) EXPECT_FALSE(open_and_keep(kept.front()));
  });
  for (int i = 0; i < 10'000; ++i) {
    Shard last;
    Shard one_more;
    ASSERT_TRUE(open_and_keep(last)) << i;
    ASSERT_FALSE(open_and_keep(one_more)) << i;
  }
}

}  // namespace
}  // namespace drapps
