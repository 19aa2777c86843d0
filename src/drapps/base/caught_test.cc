#include "drapps/base/caught.h"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>

namespace drapps {
namespace {

TEST(Caught, GivesWhatTheFunctionReturns) {
  EXPECT_TRUE(catching([] {}).ok());
  EXPECT_EQ(*catching([]() -> Result<int> { return 3; }), 3);
  EXPECT_EQ(catching([]() -> Status { return invalid("no"); }).error().message, "no");
}

TEST(Caught, AFailedAllocationIsALackOfMemory) {
  const Status status = catching([] { throw std::bad_alloc(); });
  EXPECT_EQ(status.error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(status.error().message, "out of memory");
}

TEST(Caught, ALackOfMemoryIsTheOnlyOneThatIsAdvisedAbout) {
  Error lack = catching([] { throw std::bad_alloc(); }).error();
  advise(lack);
  EXPECT_EQ(lack.message.rfind("out of memory: ", 0), 0u);
  Error other = invalid("out of memory");
  advise(other);
  EXPECT_EQ(other.message, "out of memory");
}

TEST(Caught, AnyOtherExceptionIsInternalAndKeepsItsText) {
  const Status status = catching([] { throw std::runtime_error("a text that takes memory of its own"); });
  EXPECT_EQ(status.error().code, ErrorCode::kInternal);
  EXPECT_EQ(status.error().message, "a text that takes memory of its own");
  EXPECT_EQ(catching([] { throw 3; }).error().code, ErrorCode::kInternal);
}

}  // namespace
}  // namespace drapps
