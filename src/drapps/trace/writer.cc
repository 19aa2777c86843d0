#include "drapps/trace/writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "drapps/base/caught.h"
#include "drapps/base/clock.h"
#include "drapps/decode/crc32.h"
#include "drapps/policy/weights_file.h"
#include "drapps/trace/header.h"

namespace drapps::trace {
namespace {

constexpr std::uint64_t kFlushNs = 1'000'000'000;
constexpr std::size_t kFlushBytes = 256 << 10;
// A file that takes nothing for so long will not do.
constexpr std::size_t kMostGathered = 8 << 20;
static_assert(kMostGathered < kMostBlockBytes);

Error failed(int number, const std::string& path) {
  const ErrorCode code = number == EACCES || number == EPERM || number == EROFS ? ErrorCode::kPermission
                         : number == ENOENT || number == ENOTDIR                ? ErrorCode::kNotFound
                         : number == EEXIST                                     ? ErrorCode::kInvalidArgument
                                                                                : ErrorCode::kIo;
  return {.code = code, .message = std::generic_category().message(number), .path = path};
}

void set32(Bytes& bytes, std::size_t at, std::uint32_t number) {
  for (std::size_t i = 0; i < 4; ++i) bytes[at + i] = static_cast<std::uint8_t>(number >> 8 * i);
}

}  // namespace

TraceWriter::TraceWriter(UniqueHandle file, std::string path)
    : maker_(getpid()), path_(std::move(path)), file_(std::move(file)), written_ns_(monotonic_ns()) {
  struct stat about{};
  if (fstat(file_.get(), &about) == 0) whole_bytes_ = static_cast<std::uint64_t>(about.st_size);
}

Result<std::shared_ptr<TraceWriter>> TraceWriter::open(const std::string& path, std::string_view about) {
  UniqueHandle file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_APPEND, 0666));
  if (!file) {
    Error error = failed(errno, path);
    if (error.code == ErrorCode::kInvalidArgument) {
      error.message = "there is a file of this name, and a recording overwrites none; choose another";
    }
    return error;
  }
  auto writer = on(std::move(file), path, about);
  if (!writer.ok()) ::unlink(path.c_str());  // holds nothing
  return writer;
}

Result<std::shared_ptr<TraceWriter>> TraceWriter::on(UniqueHandle file, std::string path, std::string_view about) {
  std::shared_ptr<TraceWriter> writer(new TraceWriter(std::move(file), std::move(path)));
  Bytes preamble(kMagic.begin(), kMagic.end());
  put_fixed32(preamble, kVersion);
  const TraceHeader header = this_header(read_clock_ns(CLOCK_REALTIME), monotonic_ns());
  writer->add([&](TraceEncoder& encoder) { return encoder.text(Tag::kHeader, header_to_json(header).dump()); });
  writer->add([&](TraceEncoder& encoder) { return encoder.text(Tag::kAbout, about); });
  {
    const std::lock_guard lock(writer->file_mutex_);
    if (auto written = writer->append(preamble); !written.ok()) {
      writer->ended_ = true;
      return std::move(written).error();
    }
  }
  if (auto written = writer->write_out(/*last=*/false); !written.ok()) return std::move(written).error();
  return writer;
}

TraceWriter::~TraceWriter() { static_cast<void>(close()); }

bool TraceWriter::foreign() const noexcept { return maker_ != getpid(); }

bool TraceWriter::ended() const noexcept {
  if (foreign()) return true;
  const std::lock_guard lock(mutex_);
  return ended_;
}

template <class Make>
void TraceWriter::add(const Make& make) noexcept {
  if (foreign()) return;  // its mutex may be taken for ever
  const std::lock_guard lock(mutex_);
  if (ended_) return;
  const Status added = catching([&] {
    if (gathered_.empty()) gathered_.resize(kBlockHead);
    const Bytes record = make(encoder_);
    gathered_.insert(gathered_.end(), record.begin(), record.end());
  });
  if (!added.ok()) {
    fail(added.error());
  } else if (gathered_.size() > kMostGathered) {
    fail({.code = ErrorCode::kIo, .message = "it does not take what is recorded in time", .path = path_});
  }
}

void TraceWriter::began(const Beginning& beginning) noexcept {
  add([&](TraceEncoder& encoder) { return encoder.began(beginning, monotonic_ns()); });
}

void TraceWriter::decision(const Limits& limits, const Observation& seen, const Decision& decision,
                           const SampleBatch& samples) noexcept {
  add([&](TraceEncoder& encoder) { return encoder.decision(limits, seen, decision, samples); });
}

void TraceWriter::swapped(std::string_view policy, std::string_view config) noexcept {
  add([&](TraceEncoder& encoder) { return encoder.swapped(policy, config, monotonic_ns()); });
}

void TraceWriter::renewed(std::vector<std::byte> weights) noexcept {
  add([&](TraceEncoder& encoder) {
    Bytes record = encoder.renewed(weights_hash(weights), monotonic_ns());
    weights_.push_back(std::move(weights));
    return record;
  });
}

void TraceWriter::frozen(bool frozen) noexcept {
  add([&](TraceEncoder& encoder) { return encoder.frozen(frozen, monotonic_ns()); });
}

void TraceWriter::pass(std::uint32_t epoch) noexcept {
  add([&](TraceEncoder& encoder) { return encoder.pass(epoch, monotonic_ns()); });
}

void TraceWriter::stopped(std::string_view why) noexcept {
  add([&](TraceEncoder& encoder) { return encoder.stopped(why, monotonic_ns()); });
}

Status TraceWriter::flush(std::uint64_t now_ns) noexcept {
  if (foreign()) return ok_status();
  {
    const std::lock_guard lock(mutex_);
    const bool due = now_ns - written_ns_ >= kFlushNs || gathered_.size() >= kFlushBytes;
    if (!failure_ && (ended_ || gathered_.empty() || !due)) return ok_status();
    written_ns_ = now_ns;
  }
  return write_out(/*last=*/false);
}

Status TraceWriter::close() noexcept {
  if (foreign()) return ok_status();
  add([&](TraceEncoder& encoder) { return encoder.ended(monotonic_ns()); });
  Status written = write_out(/*last=*/true);
  const std::lock_guard lock(file_mutex_);
  file_.reset();
  return written;
}

Status TraceWriter::write_out(bool last) noexcept {
  const std::lock_guard file_lock(file_mutex_);
  Bytes block;
  std::vector<std::vector<std::byte>> weights;
  {
    const std::lock_guard lock(mutex_);
    if (!ended_) block.swap(gathered_);
    weights.swap(weights_);
    ended_ = ended_ || last;
  }
  Status written = put_beside(weights);
  if (written.ok() && !block.empty()) {
    set32(block, 4, static_cast<std::uint32_t>(block.size() - kBlockHead));
    set32(block, 0, crc32(std::span(block).subspan(4)));
    written = append(block);
  }
  const std::lock_guard lock(mutex_);
  if (!written.ok()) fail(std::move(written).error());
  if (!failure_) return ok_status();
  Error error = *std::move(failure_);
  failure_.reset();
  return error;
}

Status TraceWriter::put_beside(const std::vector<std::vector<std::byte>>& weights) const noexcept {
  return catching([&]() -> Status {
    const std::string folder = std::filesystem::path(path_).parent_path().string();
    for (const auto& each : weights) DRAPPS_RETURN_IF_ERROR(put_weights(folder, each));
    return ok_status();
  });
}

Status TraceWriter::append(Bytes& block) noexcept {
  std::size_t done = 0;
  while (done < block.size()) {
    const ssize_t wrote = ::write(file_.get(), block.data() + done, block.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) {
      const int number = wrote < 0 ? errno : EIO;
      // The part of the block that was written would be read as a block that was cut off; where it cannot be taken
      // back, it is read so.
      static_cast<void>(::ftruncate(file_.get(), static_cast<off_t>(whole_bytes_)));
      return std::move(catching([&]() -> Status { return failed(number, path_); })).error();
    }
    done += static_cast<std::size_t>(wrote);
  }
  whole_bytes_ += done;
  return ok_status();
}

void TraceWriter::fail(Error error) noexcept {
  ended_ = true;
  gathered_ = {};
  if (const Status trial = catching([&] { warning_ = "the recording has ended: " + error.to_string(); }); !trial.ok()) {
    warning_.clear();
  }
  failure_ = std::move(error);
}

std::string TraceWriter::take_warning() noexcept {
  if (foreign()) return {};
  const std::lock_guard lock(mutex_);
  return std::exchange(warning_, {});
}

}  // namespace drapps::trace
