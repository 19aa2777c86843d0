#include "drapps/text/corpus/line_frames.h"

#include <gtest/gtest.h>
#include <zstd.h>

#include <string>
#include <vector>

#include "drapps/storage/testing.h"

namespace drapps::text {
namespace {

TEST(LineFrames, HaveWholeLinesAndAllOfThem) {
  const Folder folder;
  std::string content;
  for (int i = 0; content.size() < 3 * LineFrames::kContent; ++i) {
    content += std::string(static_cast<std::size_t>(i * 37 % 5000), 'a') + "\n";
  }
  content += std::string(2 * LineFrames::kContent, 'b') + "\nthe end";
  const auto corpus = Corpus::open({folder.put("a.txt", content)}, {});
  ASSERT_TRUE(corpus.ok());
  LineFrames frames({**corpus, *Storage::files(), MemoryLedger::unlimited()}, 0);
  std::vector<std::string> all;
  std::string lines;
  while (*frames.next(lines)) all.push_back(lines);
  std::string together;
  for (std::size_t i = 0; i < all.size(); ++i) {
    together += all[i];
    if (i + 1 == all.size()) break;
    EXPECT_GE(all[i].size(), LineFrames::kContent);
    EXPECT_EQ(all[i].back(), '\n');
    const std::size_t before = all[i].rfind('\n', all[i].size() - 2);
    EXPECT_LT(before + 1, LineFrames::kContent);  // without its last line it is too small
  }
  EXPECT_EQ(together, content);
  EXPECT_GT(all.size(), 3u);
  EXPECT_FALSE(*frames.next(lines));

  const std::string frame = zstd_frame_of(all[0], 3);
  EXPECT_EQ(ZSTD_getFrameContentSize(frame.data(), frame.size()), all[0].size());
  std::string plain(all[0].size(), '\0');
  EXPECT_EQ(ZSTD_decompress(plain.data(), plain.size(), frame.data(), frame.size()), plain.size());
  EXPECT_EQ(plain, all[0]);
}

}  // namespace
}  // namespace drapps::text
