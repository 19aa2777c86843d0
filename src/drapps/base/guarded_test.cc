#include "drapps/base/guarded.h"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>

namespace drapps {
namespace {

TEST(Guarded, GivesWhatTheFunctionReturns) {
  EXPECT_TRUE(guarded([] {}).ok());
  EXPECT_EQ(*guarded([]() -> Result<int> { return 3; }), 3);
  EXPECT_EQ(guarded([]() -> Status { return invalid("no"); }).error().message, "no");
}

TEST(Guarded, AFailedAllocationIsALackOfMemory) {
  const Status status = guarded([] { throw std::bad_alloc(); });
  EXPECT_EQ(status.error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(status.error().message, "out of memory");
}

TEST(Guarded, ALackOfMemoryIsTheOnlyOneThatIsAdvisedAbout) {
  Error lack = guarded([] { throw std::bad_alloc(); }).error();
  advise(lack);
  EXPECT_EQ(lack.message.rfind("out of memory: ", 0), 0u);
  Error other = invalid("out of memory");
  advise(other);
  EXPECT_EQ(other.message, "out of memory");
}

TEST(Guarded, AnyOtherExceptionIsInternalAndKeepsItsText) {
  const Status status = guarded([] { throw std::runtime_error("a text that takes memory of its own"); });
  EXPECT_EQ(status.error().code, ErrorCode::kInternal);
  EXPECT_EQ(status.error().message, "a text that takes memory of its own");
  EXPECT_EQ(guarded([] { throw 3; }).error().code, ErrorCode::kInternal);
}

}  // namespace
}  // namespace drapps
