#include "drapps/meter/residency_look.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <string>

#include "drapps/meter/residency_files_test.h"

namespace drapps {
namespace {

using Outcome = ResidencyLook::LookOutcome;

/// Somebody else, who may read what all may read.
class AsNobody {
 public:
  AsNobody() { EXPECT_EQ(::seteuid(65534), 0); }
  ~AsNobody() { EXPECT_EQ(::seteuid(0), 0); }
};

TEST_F(ResidencyTest, IsWhatIsInThePageCache) {
  const std::string file = put("file", 4 * kMebibyte);
  ResidencyLook look = look_at_residency(file, 0);
  EXPECT_EQ(look.outcome, Outcome::kSeen);
  EXPECT_EQ(look.bytes, 4 * kMebibyte);
  EXPECT_EQ(look.resident, 1);
  drop(file);
  EXPECT_EQ(look_at_residency(file, 0).resident, 0);
  EXPECT_EQ(look_at_residency(file, 0).resident, 0);  // looking reads nothing
  read_all(file);
  EXPECT_EQ(look_at_residency(file, 0).resident, 1);
  drop(file, 2 * kMebibyte, 2 * kMebibyte);
  EXPECT_EQ(look_at_residency(file, 0).resident, 0.5);
}

TEST_F(ResidencyTest, OfAFileCountsItsLastPage) {
  const std::string file = put("file", 1);
  EXPECT_EQ(look_at_residency(file, 0.99).resident, 1);
  EXPECT_EQ(look_at_residency(file, 0.99).bytes, 1u);
}

TEST_F(ResidencyTest, OfAHugeFileIsThatOfOneOfItsParts) {
  const std::size_t part = kResidencyPages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::string file = put("file", 2 * part + part / 2);
  drop(file, part, part);
  const ResidencyLook first = look_at_residency(file, 0);
  EXPECT_EQ(first.bytes, 2 * part + part / 2);
  EXPECT_EQ(first.resident, 1);
  EXPECT_EQ(look_at_residency(file, 0.34).resident, 0);
  EXPECT_EQ(look_at_residency(file, 0.66).resident, 0);
  EXPECT_EQ(look_at_residency(file, 0.67).resident, 1);
  EXPECT_EQ(look_at_residency(file, 0.999).resident, 1);
}

TEST_F(ResidencyTest, IsAskedOfRegularFilesWithBytesAlone) {
  EXPECT_EQ(look_at_residency(tree.root() + "/none", 0).outcome, Outcome::kLeftOut);
  EXPECT_EQ(look_at_residency(put("empty", 0), 0).outcome, Outcome::kLeftOut);
  EXPECT_EQ(look_at_residency(put("empty", 0) + "/below", 0).outcome, Outcome::kLeftOut);
  EXPECT_EQ(look_at_residency(tree.root(), 0).outcome, Outcome::kLeftOut);
  EXPECT_EQ(look_at_residency("/dev/zero", 0).outcome, Outcome::kLeftOut);
  const std::string pipe = tree.root() + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(look_at_residency(pipe, 0).outcome, Outcome::kLeftOut);  // and nobody waits for a writer
}

TEST_F(ResidencyTest, IsNotToldOfWhatOthersHave) {
  if (::geteuid() != 0) GTEST_SKIP() << "it takes root to become somebody else";
  std::filesystem::permissions(tree.root(), std::filesystem::perms(0755));
  const std::string theirs = put("theirs", kMebibyte);
  const std::string writable = put("writable", kMebibyte);
  const std::string own = put("own", kMebibyte);
  ASSERT_EQ(::chmod(theirs.c_str(), 0644), 0);
  ASSERT_EQ(::chmod(writable.c_str(), 0666), 0);
  ASSERT_EQ(::chmod(own.c_str(), 0400), 0);
  ASSERT_EQ(::chown(own.c_str(), 65534, 65534), 0);
  for (const std::string& file : {theirs, writable, own}) drop(file);
  EXPECT_EQ(look_at_residency(own, 0).resident, 0);  // to root all is told
  EXPECT_EQ(look_at_residency(own, 0).outcome, Outcome::kSeen);
  const AsNobody nobody;
  EXPECT_EQ(look_at_residency(theirs, 0).outcome, Outcome::kNotTold);
  EXPECT_EQ(look_at_residency(theirs, 0).resident, 0);
  EXPECT_EQ(look_at_residency(writable, 0).outcome, Outcome::kSeen);
  EXPECT_EQ(look_at_residency(own, 0).outcome, Outcome::kSeen);
  for (const std::string& file : {writable, own}) EXPECT_EQ(look_at_residency(file, 0).resident, 0);
}

/// What the rule of is_told() stands on: if a kernel has another one, this says so.
TEST_F(ResidencyTest, OfOthersFilesIsAllAsTheKernelHasIt) {
  if (::geteuid() != 0) GTEST_SKIP() << "it takes root to become somebody else";
  std::filesystem::permissions(tree.root(), std::filesystem::perms(0755));
  const std::string theirs = put("theirs", kMebibyte);
  ASSERT_EQ(::chmod(theirs.c_str(), 0644), 0);
  drop(theirs);
  const AsNobody nobody;
  const UniqueHandle file(::open(theirs.c_str(), O_RDONLY | O_CLOEXEC));
  void* const mapped = ::mmap(nullptr, kMebibyte, PROT_READ, MAP_SHARED, file.get(), 0);
  ASSERT_NE(mapped, MAP_FAILED);
  std::array<unsigned char, 1> there{};
  EXPECT_EQ(::mincore(mapped, 1, there.data()), 0);
  EXPECT_EQ(there[0] & 1, 1);
  ::munmap(mapped, kMebibyte);
}

}  // namespace
}  // namespace drapps
