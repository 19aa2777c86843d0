#include "drapps/source/tar.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

namespace drapps {
namespace {

constexpr std::uint64_t kBlock = 512;
// Far above any path; bounds what a damaged header makes us read.
constexpr std::uint64_t kMaxName = 65536;

// Fields of a header: offset and length.
struct TarField {
  std::size_t offset, length;
};
constexpr TarField kName{0, 100}, kSize{124, 12}, kChecksum{148, 8}, kMagic{257, 6}, kPrefix{345, 155};
constexpr std::size_t kType = 156;

using Block = std::array<std::uint8_t, kBlock>;

Error bad(ErrorCode code, std::string message, std::uint64_t offset) {
  return Error{.code = code, .message = std::move(message), .offset = static_cast<std::int64_t>(offset)};
}

std::string_view text(std::span<const std::uint8_t> bytes) {
  const std::string_view whole(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return whole.substr(0, whole.find('\0'));
}

std::string_view text(const Block& block, TarField field) {
  return text(std::span(block).subspan(field.offset, field.length));
}

/// Digits of `base` <= 10 and nothing else.
std::optional<std::uint64_t> digits(std::string_view text, std::uint64_t base) {
  if (text.empty()) return std::nullopt;
  std::uint64_t value = 0;
  for (const char digit : text) {
    if (digit < '0' || digit >= static_cast<char>('0' + base) || value > (UINT64_MAX - base) / base) {
      return std::nullopt;
    }
    value = value * base + static_cast<std::uint64_t>(digit - '0');
  }
  return value;
}

std::optional<std::uint64_t> number(const Block& block, TarField field) {
  const std::span<const std::uint8_t> bytes = std::span(block).subspan(field.offset, field.length);
  if ((bytes[0] & 0x80) != 0) {  // base 256
    std::uint64_t value = bytes[0] & 0x7F;
    for (const std::uint8_t byte : bytes.subspan(1)) {
      if (value >> 55 != 0) return std::nullopt;
      value = value << 8 | byte;
    }
    return value;
  }
  std::string_view octal = text(bytes);
  while (octal.starts_with(' ')) octal.remove_prefix(1);
  while (octal.ends_with(' ')) octal.remove_suffix(1);
  return octal.empty() ? 0 : digits(octal, 8);
}

/// The sum of all bytes, those of the checksum taken as spaces. Some old writers added signed bytes.
bool checksum_fits(const Block& block) {
  const std::optional<std::uint64_t> field = number(block, kChecksum);
  std::int64_t plain = 0;
  std::int64_t with_sign = 0;
  for (std::size_t i = 0; i < kBlock; ++i) {
    const bool own = i >= kChecksum.offset && i < kChecksum.offset + kChecksum.length;
    const std::uint8_t byte = own ? ' ' : block[i];
    plain += byte;
    with_sign += static_cast<std::int8_t>(byte);
  }
  return field && (static_cast<std::int64_t>(*field) == plain || static_cast<std::int64_t>(*field) == with_sign);
}

Error no_tar(const Block& block) {
  const auto starts = [&](std::string_view magic) {
    return std::memcmp(block.data(), magic.data(), magic.size()) == 0;
  };
  for (const auto& [magic, name] : {std::pair<std::string_view, const char*>{"\x1f\x8b", "gzip"},
                                    {"\x28\xb5\x2f\xfd", "zstd"},
                                    {"\xfd"
                                     "7zXZ",
                                     "xz"},
                                    {"BZh", "bzip2"}}) {
    if (starts(magic)) {
      return bad(ErrorCode::kUnsupported,
                 std::string("the archive is compressed with ") + name +
                     ", which has no random access; decompress it, pictures are compressed already",
                 0);
    }
  }
  return bad(ErrorCode::kUnsupported, "this is no tar file; name tar files only", 0);
}

/// What comes before a member and is about it.
struct Ahead {
  std::string name;  // empty where there is none
  std::optional<std::uint64_t> size;
};

/// Reads the records "length key=value\n" of a pax header at `offset`.
Status take_pax(std::string_view records, std::uint64_t offset, Ahead& ahead) {
  const auto wrong = [&] {
    return bad(ErrorCode::kCorrupt, "the pax header makes no sense; restore the file", offset);
  };
  while (!records.empty() && records.front() != '\0') {
    const std::size_t space = records.find(' ');
    if (space == std::string_view::npos) return wrong();
    const std::optional<std::uint64_t> length = digits(records.substr(0, space), 10);
    if (!length || *length < space + 3 || *length > records.size() || records[*length - 1] != '\n') return wrong();
    const std::string_view record = records.substr(space + 1, *length - space - 2);
    const std::size_t equals = record.find('=');
    if (equals == std::string_view::npos) return wrong();
    const std::string_view key = record.substr(0, equals);
    const std::string_view value = record.substr(equals + 1);
    if (key == "path") ahead.name = value.substr(0, value.find('\0'));
    if (key == "size") {
      ahead.size = digits(value, 10);
      if (!ahead.size) return wrong();
    }
    if (key.starts_with("GNU.sparse.")) {
      return bad(ErrorCode::kUnsupported, "the member is sparse; write the archive without --sparse", offset);
    }
    records.remove_prefix(*length);
  }
  return ok_status();
}

/// Whether data follow a header of this type, whatever its size says.
bool has_data(char type) { return type < '1' || type > '6'; }

}  // namespace

Status list_tar(FileWindow& file, const TarVisitor& visit) {
  Ahead ahead;
  std::string name;
  for (std::uint64_t at = 0; at < file.size();) {
    const auto piece = file.read(at, std::min(kBlock, file.size() - at));
    if (!piece.ok()) return std::move(piece).error();
    Block block{};
    std::copy(piece->begin(), piece->end(), block.begin());
    if (std::all_of(block.begin(), block.end(), [](std::uint8_t byte) { return byte == 0; })) break;
    if (piece->size() < kBlock || !checksum_fits(block)) {
      if (at == 0) return no_tar(block);
      return piece->size() < kBlock
                 ? bad(ErrorCode::kTruncated, "the archive ends inside a header; restore the file", at)
                 : bad(ErrorCode::kCorrupt, "a header's checksum does not fit; restore the file", at);
    }

    const auto type = static_cast<char>(block[kType]);
    const bool extension = type == 'x' || type == 'g' || type == 'L' || type == 'K';
    std::optional<std::uint64_t> size = number(block, kSize);
    if (!extension && ahead.size) size = ahead.size;
    if (!size) return bad(ErrorCode::kCorrupt, "the size of a member is no number; restore the file", at);
    if (!has_data(type)) size = 0;
    const std::uint64_t data = at + kBlock;
    if (*size > file.size() - data) {
      return bad(ErrorCode::kTruncated,
                 "the archive ends inside a member of " + std::to_string(*size) + " bytes; restore the file", at);
    }
    const std::uint64_t padding = (kBlock - *size % kBlock) % kBlock;
    const std::uint64_t next = std::min(data + *size + padding, file.size());

    if (extension) {
      const bool names = type == 'L';
      if (names && *size > kMaxName) return bad(ErrorCode::kCorrupt, "a name is too long; restore the file", at);
      if (names || type == 'x') {
        const auto content = file.read(data, *size);
        if (!content.ok()) return std::move(content).error();
        if (names) {
          ahead.name = text(*content);
        } else {
          const std::string_view records(reinterpret_cast<const char*>(content->data()), content->size());
          DRAPPS_RETURN_IF_ERROR(take_pax(records, at, ahead));
        }
      }
      at = next;
      continue;
    }
    if (type == 'S')
      return bad(ErrorCode::kUnsupported, "the member is sparse; write the archive without --sparse", at);
    if (type == 'M') {
      return bad(ErrorCode::kUnsupported, "the archive goes over several volumes; write each as one of its own", at);
    }

    name = std::exchange(ahead.name, {});
    ahead = {};
    if (name.empty()) {
      if (text(block, kMagic) == "ustar") name = text(block, kPrefix);
      if (!name.empty()) name += '/';
      name += text(block, kName);
    }
    const bool regular = type == '0' || type == '7' || (type == '\0' && !name.ends_with('/'));
    if (regular) {
      if (name.empty()) return bad(ErrorCode::kCorrupt, "a member has no name; restore the file", at);
      DRAPPS_RETURN_IF_ERROR(visit({.name = name, .offset = data, .size = *size}));
    }
    at = next;
  }
  return ok_status();
}

namespace {

/// The extension, with its letters made small.
std::string extension_of(std::string_view name) {
  const std::string_view last = name.substr(name.rfind('/') + 1);
  const std::size_t dot = last.find('.');
  std::string extension(dot == std::string_view::npos ? "" : last.substr(dot + 1));
  for (char& letter : extension) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return extension;
}

}  // namespace

Result<TarListing> list_tar(FileWindow& file, const std::vector<std::string>& keep) {
  TarListing listing;
  const auto visit = [&](const TarMember& member) -> Status {
    if (!keep.empty() && std::find(keep.begin(), keep.end(), extension_of(member.name)) != keep.end()) {
      const auto content = file.read(member.offset, member.size);
      if (!content.ok()) return std::move(content).error();
      listing.kept.push_back(listing.offset.size());
      listing.contents.emplace_back(content->begin(), content->end());
    }
    listing.names.append(member.name).push_back('\0');
    listing.offset.push_back(member.offset);
    listing.size.push_back(member.size);
    return ok_status();
  };
  DRAPPS_RETURN_IF_ERROR(list_tar(file, visit));
  return listing;
}

}  // namespace drapps
