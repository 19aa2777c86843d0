#include "drapps/text/documents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace drapps::text {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Documents, AreHeldApart) {
  const Documents lines = find_documents("one\n\ntwo\n", "\n");
  EXPECT_THAT(lines.begins, ElementsAre(0, 4, 5));
  EXPECT_THAT(lines.ends, ElementsAre(3, 4, 8));
  const Documents parts = find_documents("a<>b<c", "<>");
  EXPECT_THAT(parts.begins, ElementsAre(0, 3));
  EXPECT_THAT(parts.ends, ElementsAre(1, 6));
  EXPECT_THAT(find_documents("", "\n").begins, IsEmpty());
}

}  // namespace
}  // namespace drapps::text
