#include "drapps/text/collate/pad.h"

#include <gtest/gtest.h>

#include <vector>

namespace drapps::text {
namespace {

using Numbers = std::vector<std::int64_t>;

const Numbers kValues{1, 2, 3, 4};
const Numbers kBegins{0, 1, 1, 4};

TEST(Pad, RowsStandOnTheSideThatIsNotPadded) {
  Numbers out(9);
  pad_rows(kValues, kBegins, 3, -1, false, out);
  EXPECT_EQ(out, (Numbers{1, -1, -1, -1, -1, -1, 2, 3, 4}));
  pad_rows(kValues, kBegins, 3, -1, true, out);
  EXPECT_EQ(out, (Numbers{-1, -1, 1, -1, -1, -1, 2, 3, 4}));
  mark_rows(kBegins, 3, true, out);
  EXPECT_EQ(out, (Numbers{0, 0, 1, 0, 0, 0, 1, 1, 1}));
  mark_rows(kBegins, 3, false, out);
  EXPECT_EQ(out, (Numbers{1, 0, 0, 0, 0, 0, 1, 1, 1}));
}

TEST(Pad, RowsThatAreFlattenedAreCounted) {
  Numbers places(4);
  count_in_rows(kBegins, 2, places);
  EXPECT_EQ(places, (Numbers{2, 2, 3, 4}));
  std::vector<std::int32_t> rows(4);
  number_rows(kBegins, rows);
  EXPECT_EQ(rows, (std::vector<std::int32_t>{0, 2, 2, 2}));
}

}  // namespace
}  // namespace drapps::text
