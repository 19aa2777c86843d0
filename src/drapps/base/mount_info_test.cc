#include "drapps/base/mount_info.h"

#include <gtest/gtest.h>

namespace drapps {
namespace {

constexpr const char* kMounts =
    "27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard\n"
    "22 27 0:21 / /proc rw - proc proc rw\n"
    "40 27 0:50 / /data rw,nosuid shared:7 master:2 - nfs4 server:/export rw,vers=4.2\n"
    "41 40 8:17 /pictures /data/my\\040photos ro - fuse.sshfs me@host:/a\\134b ro\n"
    "42 27 0:51 / /database rw - tmpfs none rw\n"
    "43 27 0:52 / /scratch rw - xfs /dev/old rw\n"
    "44 27 0:53 / /scratch rw - xfs /dev/new rw\n";

std::string device_of(std::string_view path, std::string_view text = kMounts) {
  const auto mounts = parse_mount_info(text);
  const MountEntry* const entry = mount_of(mounts, path);
  return entry == nullptr ? "nothing" : entry->device;
}

TEST(MountInfo, TheLongestMountPointThatLeadsToAPathHasIt) {
  EXPECT_EQ(device_of("/home/me/a.jpg"), "/dev/vda");
  EXPECT_EQ(device_of("/"), "/dev/vda");
  EXPECT_EQ(device_of("/data"), "server:/export");
  EXPECT_EQ(device_of("/data/a.jpg"), "server:/export");
  EXPECT_EQ(device_of("/database/a.jpg"), "none");
  EXPECT_EQ(device_of("/data2/a.jpg"), "/dev/vda");
  EXPECT_EQ(device_of("/data/my photos/a.jpg"), "me@host:/a\\b");
  EXPECT_EQ(device_of("a.jpg"), "nothing");
  EXPECT_EQ(device_of("/a.jpg", ""), "nothing");
}

TEST(MountInfo, OfSeveralAtOnePointTheLastHidesTheOthers) { EXPECT_EQ(device_of("/scratch/a"), "/dev/new"); }

TEST(MountInfo, FieldsAreThoseOfTheLineWithoutTheirEscapes) {
  const MountEntry mount = parse_mount_info(kMounts).at(3);
  EXPECT_EQ(mount.root, "/pictures");
  EXPECT_EQ(mount.point, "/data/my photos");
  EXPECT_EQ(mount.filesystem, "fuse.sshfs");
  EXPECT_EQ(mount.options, "ro");
  const auto odd = parse_mount_info("1 0 0:1 / /a\\04 rw - t \\777\\1 rw\\");
  EXPECT_EQ(odd.at(0).point, "/a\\04") << "no escape";
  EXPECT_EQ(odd.at(0).device, "\\777\\1");
  EXPECT_EQ(odd.at(0).options, "rw\\");
}

TEST(MountInfo, LinesThatAreDamagedAreLeftOut) {
  for (const char* damaged : {
           "",
           "27",
           "27 1 254:0 / /",
           "27 1 254:0 / / rw",
           "27 1 254:0 / / rw shared:1 ext4 /dev/vda rw",  // no separator
           "27 1 254:0 / / rw -",
           "27 1 254:0 / / rw - ",
           "27 1 254:0 / nowhere rw - ext4 /dev/vda rw",
           "- - - - - - - - -",
           "    - ext4 /dev/vda rw",
       }) {
    EXPECT_TRUE(parse_mount_info(damaged).empty()) << damaged;
    EXPECT_EQ(device_of("/a", std::string(damaged) + "\n" + kMounts), "/dev/vda") << damaged;
  }
  EXPECT_EQ(parse_mount_info("27 1 254:0 / / rw - ext4").at(0).device, "") << "the type says where it lies already";
}

}  // namespace
}  // namespace drapps
