#include "drapps/text/tokens/megatron_index.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

namespace drapps::text {
namespace {

constexpr std::array<std::uint8_t, 9> kIndexMagic{'M', 'M', 'I', 'D', 'I', 'D', 'X', 0, 0};
constexpr std::uint64_t kHeader = 34;
constexpr std::uint64_t kVersionAt = 9, kDtypeAt = 17, kSequencesAt = 18, kDocumentsAt = 26;

Error corrupt(std::string message, std::uint64_t offset) {
  return {.code = ErrorCode::kCorrupt, .message = std::move(message), .offset = static_cast<std::int64_t>(offset)};
}

std::uint64_t number_at(std::span<const std::uint8_t> bytes, std::uint64_t at) {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

std::optional<Dtype> dtype_of(std::uint8_t code) {
  switch (code) {
    case 1: return Dtype::kUint8;
    case 2: return Dtype::kInt8;
    case 3: return Dtype::kInt16;
    case 4: return Dtype::kInt32;
    case 5: return Dtype::kInt64;
    case 8: return Dtype::kUint16;
    default: return std::nullopt;
  }
}

/// Numbers that stand one behind the other, read some at a time.
template <class T>
class Numbers {
 public:
  Numbers(FileWindow& file, std::uint64_t offset, std::uint64_t count) : file_(file), offset_(offset), left_(count) {}
  std::uint64_t left() const noexcept { return left_ + (held_.size() - next_); }
  /// Byte of the one that next() gave last.
  std::uint64_t at() const noexcept { return offset_ - (held_.size() - next_ + 1) * sizeof(T); }
  /// Requires left() > 0.
  Result<T> next() {
    if (next_ == held_.size()) {
      const std::uint64_t count = std::min(left_, kAtOnce);
      auto bytes = file_.read(offset_, count * sizeof(T));
      if (!bytes.ok()) return std::move(bytes).error();
      held_.resize(count);
      std::memcpy(held_.data(), bytes->data(), bytes->size());
      offset_ += bytes->size();
      left_ -= count;
      next_ = 0;
    }
    return held_[next_++];
  }

 private:
  static constexpr std::uint64_t kAtOnce = std::uint64_t{64} << 10;
  FileWindow& file_;
  std::uint64_t offset_;
  std::uint64_t left_;
  std::vector<T> held_;
  std::size_t next_ = 0;
};

struct MegatronHeader {
  Dtype dtype;
  std::uint64_t sequences;
  std::uint64_t documents;
};

Result<MegatronHeader> read_header(FileWindow& file) {
  auto bytes = file.read(0, std::min(file.size(), kHeader));
  if (!bytes.ok()) return std::move(bytes).error();
  const auto head = *bytes;
  if (head.size() < kIndexMagic.size() || !std::equal(kIndexMagic.begin(), kIndexMagic.end(), head.begin())) {
    const bool old = head.size() >= 6 && std::memcmp(head.data(), "TNTIDX", 6) == 0;
    return Error{
        .code = ErrorCode::kUnsupported,
        .message = old ? "this is an index of the older, cached kind; write it anew with Megatron's memory-mapped one"
                       : "this is no index of Megatron's: it does not begin with MMIDIDX",
        .offset = 0};
  }
  if (head.size() < kHeader) {
    return Error{.code = ErrorCode::kTruncated,
                 .message = "the index ends within its header; restore the file",
                 .offset = static_cast<std::int64_t>(head.size())};
  }
  if (const std::uint64_t version = number_at(head, kVersionAt); version != 1) {
    return Error{.code = ErrorCode::kUnsupported,
                 .message = "the index is of version " + std::to_string(version) + ", and only 1 is known",
                 .offset = kVersionAt};
  }
  const std::uint8_t code = head[kDtypeAt];
  const auto dtype = dtype_of(code);
  if (!dtype) {
    const std::string what = code == 6 || code == 7 ? "floats, which are no ids" : "a dtype that is not known";
    return Error{.code = ErrorCode::kUnsupported,
                 .message = "the index has dtype code " + std::to_string(code) + ": " + what,
                 .offset = kDtypeAt};
  }
  return MegatronHeader{*dtype, number_at(head, kSequencesAt), number_at(head, kDocumentsAt)};
}

/// That the file has as many bytes as its header says.
Status check_size(const MegatronHeader& header, std::uint64_t size) {
  const std::uint64_t room = size - kHeader;
  const bool fits = header.sequences <= room / 12 && header.documents <= (room - header.sequences * 12) / 8;
  if (!fits) {
    return Error{.code = ErrorCode::kTruncated,
                 .message = "the index ends before the " + std::to_string(header.sequences) + " sequences and " +
                            std::to_string(header.documents) +
                            " ends of documents that its header names; restore the file",
                 .offset = static_cast<std::int64_t>(size)};
  }
  const std::uint64_t rest = room - header.sequences * 12 - header.documents * 8;
  if (rest == 0 || rest == header.sequences) return ok_status();
  return corrupt("behind the documents stand " + std::to_string(rest) + " bytes that are no part of an index",
                 size - rest);
}

}  // namespace

Result<MegatronIndex> read_megatron_index(FileWindow& file, bool documents) {
  auto header = read_header(file);
  if (!header.ok()) return std::move(header).error();
  DRAPPS_RETURN_IF_ERROR(check_size(*header, file.size()));
  MegatronIndex index{.dtype = header->dtype, .ids = 0, .documents = {}};
  const std::uint64_t width = size_of(index.dtype);
  Numbers<std::int32_t> lengths(file, kHeader, header->sequences);
  Numbers<std::int64_t> offsets(file, kHeader + header->sequences * 4, header->sequences);
  Numbers<std::int64_t> begins(file, kHeader + header->sequences * 12, header->documents);
  std::int64_t begin = -1;
  // Notes the documents that begin with a sequence.
  const auto pass = [&](std::uint64_t sequence, std::uint64_t id) -> Status {
    while (begins.left() > 0 && (begin < 0 || static_cast<std::uint64_t>(begin) == sequence)) {
      const bool noted = !index.documents.empty() && index.documents.back() == id;
      if (begin >= 0 && documents && !noted) index.documents.push_back(id);
      auto next = begins.next();
      if (!next.ok()) return std::move(next).error();
      const bool last = begins.left() == 0;
      if (*next < std::max<std::int64_t>(begin, 0) || static_cast<std::uint64_t>(*next) > header->sequences ||
          (last && static_cast<std::uint64_t>(*next) != header->sequences)) {
        return corrupt("a document begins with sequence " + std::to_string(*next) + ", of " +
                           std::to_string(header->sequences) + ": they must ascend, to the number of sequences",
                       begins.at());
      }
      begin = *next;
    }
    return ok_status();
  };
  for (std::uint64_t sequence = 0; sequence < header->sequences; ++sequence) {
    DRAPPS_RETURN_IF_ERROR(pass(sequence, index.ids));
    auto length = lengths.next();
    if (!length.ok()) return std::move(length).error();
    auto offset = offsets.next();
    if (!offset.ok()) return std::move(offset).error();
    if (*length < 0) {
      return corrupt("sequence " + std::to_string(sequence) + " has a length of " + std::to_string(*length),
                     lengths.at());
    }
    if (*offset < 0 || static_cast<std::uint64_t>(*offset) != index.ids * width) {
      return corrupt("sequence " + std::to_string(sequence) + " begins at byte " + std::to_string(*offset) +
                         " of the .bin file, and the one before it ends at byte " + std::to_string(index.ids * width),
                     offsets.at());
    }
    index.ids += static_cast<std::uint64_t>(*length);
  }
  DRAPPS_RETURN_IF_ERROR(pass(header->sequences, index.ids));
  if (!index.documents.empty() && index.documents.back() == index.ids) index.documents.pop_back();
  DRAPPS_RETURN_IF_ERROR(file.check_unchanged());
  return index;
}

}  // namespace drapps::text
