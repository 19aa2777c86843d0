#include "drapps/pipeline/large_samples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace drapps {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(LargeSamples, AreToldOfOnceAndInTheirOrder) {
  LargeSamples large;
  EXPECT_THAT(large.take(9), IsEmpty());
  large.add(7, 70);
  large.add(2, 20);
  large.add(1, 10);
  EXPECT_THAT(large.take(0), IsEmpty());
  EXPECT_THAT(large.take(7), ElementsAre(10, 20));
  EXPECT_THAT(large.take(7), IsEmpty());
  EXPECT_THAT(large.take(8), ElementsAre(70));
}

}  // namespace
}  // namespace drapps
