#include "drapps/policy/weights_file.h"

#define XXH_INLINE_ALL  // NOLINT(readability-identifier-naming): the name is the library's
#include <xxhash.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "drapps/base/unique_handle.h"
#include "drapps/policy/config.h"

namespace drapps {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnding = ".weights";
constexpr std::string_view kUnfinished = ".unfinished";
constexpr std::size_t kHashDigits = 32;
constexpr std::string_view kDigitsOfHashes = "0123456789abcdef";
constexpr auto kForgotten = std::chrono::hours(1);  // after which what a process left unfinished is nobody's

std::string weights_path(const std::string& folder, std::string_view hash) {
  return (fs::path(folder) / hash).string().append(kEnding);
}

Error weights_failed(int number, const std::string& path) {
  const ErrorCode code = number == EACCES || number == EPERM || number == EROFS ? ErrorCode::kPermission
                         : number == ENOENT || number == ENOTDIR                ? ErrorCode::kNotFound
                                                                                : ErrorCode::kIo;
  return {.code = code, .message = std::generic_category().message(number), .path = path};
}

bool is_weights_name(const std::string& name, std::string_view ending) {
  return name.size() > kHashDigits && name.ends_with(ending) && name.find_first_not_of(kDigitsOfHashes) == kHashDigits;
}

/// 0, or the number of the error.
int write_all(int file, std::span<const std::byte> bytes) noexcept {
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(file, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return wrote < 0 ? errno : EIO;
    bytes = bytes.subspan(static_cast<std::size_t>(wrote));
  }
  return 0;
}

struct ListedWeights {
  fs::file_time_type time;
  std::string hash;
};

/// The files of a folder that are weights by their names, the latest first.
std::vector<ListedWeights> listed_weights(const std::string& folder) {
  std::vector<ListedWeights> files;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    std::error_code gone;
    const fs::file_time_type time = at->last_write_time(gone);
    if (gone) continue;
    if (is_weights_name(name, kEnding)) files.push_back({time, name.substr(0, kHashDigits)});
    if (is_weights_name(name, kUnfinished) && fs::file_time_type::clock::now() - time > kForgotten) {
      fs::remove(at->path(), gone);
    }
  }
  std::ranges::sort(files, [](const ListedWeights& a, const ListedWeights& b) {
    return std::pair(b.time, std::string_view(b.hash)) < std::pair(a.time, std::string_view(a.hash));
  });
  return files;
}

}  // namespace

std::string weights_hash(std::span<const std::byte> weights) {
  const XXH128_hash_t hash = XXH3_128bits(weights.data(), weights.size());
  std::array<char, kHashDigits + 1> text{};
  std::snprintf(text.data(), text.size(), "%016llx%016llx", static_cast<unsigned long long>(hash.high64),
                static_cast<unsigned long long>(hash.low64));
  return text.data();
}

Status put_weights(const std::string& folder, std::span<const std::byte> weights) {
  static std::atomic<unsigned> count = 0;
  const std::string hash = weights_hash(weights);
  const std::string path = weights_path(folder, hash);
  if (get_weights(folder, hash).ok()) return ok_status();
  const std::string beside = (fs::path(folder) / hash).string() + "." + std::to_string(getpid()) + "." +
                             std::to_string(count++) + std::string(kUnfinished);
  const UniqueHandle file(::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!file) return weights_failed(errno, beside);
  int number = write_all(file.get(), weights);
  if (number == 0 && ::rename(beside.c_str(), path.c_str()) != 0) number = errno;
  if (number == 0) return ok_status();
  ::unlink(beside.c_str());
  return weights_failed(number, path);
}

Result<std::vector<std::byte>> get_weights(const std::string& folder, std::string_view hash) {
  if (hash.size() != kHashDigits || hash.find_first_not_of(kDigitsOfHashes) != std::string_view::npos) {
    return Error{.code = ErrorCode::kCorrupt, .message = "weights are named by 32 hexadecimal digits"};
  }
  const std::string path = weights_path(folder, hash);
  const UniqueHandle file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return weights_failed(errno, path);
  struct stat about{};
  if (::fstat(file.get(), &about) != 0) return weights_failed(errno, path);
  const Error other{.code = ErrorCode::kCorrupt, .message = "it does not hold the weights of its name", .path = path};
  if (!S_ISREG(about.st_mode) || static_cast<std::size_t>(about.st_size) > kMostWeightBytes) return other;
  std::vector<std::byte> bytes(static_cast<std::size_t>(about.st_size));
  std::size_t at = 0;
  while (at < bytes.size()) {
    const ssize_t came = ::read(file.get(), bytes.data() + at, bytes.size() - at);
    if (came < 0 && errno == EINTR) continue;
    if (came < 0) return weights_failed(errno, path);
    if (came == 0) return other;
    at += static_cast<std::size_t>(came);
  }
  if (weights_hash(bytes) != hash) return other;
  return bytes;
}

std::vector<std::byte> KeptWeights::latest() const {
  for (const ListedWeights& each : listed_weights(folder_)) {
    if (auto weights = get_weights(folder_, each.hash); weights.ok()) return *std::move(weights);
  }
  return {};
}

Status KeptWeights::keep(std::span<const std::byte> weights) const {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) return weights_failed(error.value(), folder_);
  DRAPPS_RETURN_IF_ERROR(put_weights(folder_, weights));
  // Those that were there before are the latest now.
  ::utimensat(AT_FDCWD, weights_path(folder_, weights_hash(weights)).c_str(), nullptr, 0);
  const std::vector<ListedWeights> all = listed_weights(folder_);
  for (std::size_t i = kMost; i < all.size(); ++i) withdraw(all[i].hash);
  return ok_status();
}

void KeptWeights::withdraw(std::string_view hash) const noexcept { ::unlink(weights_path(folder_, hash).c_str()); }

}  // namespace drapps
