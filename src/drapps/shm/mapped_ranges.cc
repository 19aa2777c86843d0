#include "drapps/shm/mapped_ranges.h"

#include <sys/mman.h>
#include <unistd.h>

#include <iterator>

#include "drapps/base/caught.h"

namespace drapps {

MappedRange::MappedRange(Mapping mapping, std::uint64_t begin) noexcept
    : mapping_(std::move(mapping)), begin_(begin), mapper_(getpid()) {}

bool MappedRange::mine() const noexcept { return getpid() == mapper_; }

void MappedRange::punch(std::uint64_t begin, std::uint64_t end) const noexcept {
  const auto [first, last] = whole_pages(begin, end);
  if (first < last) madvise(at(first), last - first, MADV_REMOVE);
}

std::pair<std::uint64_t, std::uint64_t> whole_pages(std::uint64_t begin, std::uint64_t end) noexcept {
  static const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return {round_up(begin, page), end / page * page};
}

std::shared_ptr<const MappedRange> MappedRanges::find(std::uint64_t begin, std::uint64_t end) const {
  const std::scoped_lock lock(mutex_);
  return find_locked(begin, end);
}

std::shared_ptr<const MappedRange> MappedRanges::find_locked(std::uint64_t begin, std::uint64_t end) const {
  const auto position = by_offset_.find(begin);
  return position != by_offset_.end() && position->second->end() >= end ? position->second : nullptr;
}

Result<std::shared_ptr<const MappedRange>> MappedRanges::map(std::uint64_t begin, std::uint64_t end) {
  const std::scoped_lock lock(mutex_);
  if (auto range = find_locked(begin, end)) return range;
  auto mapping = file_.map(begin, end - begin);
  if (!mapping.ok()) {
    forget_idle();
    mapping = file_.map(begin, end - begin);
  }
  if (!mapping.ok()) return std::move(mapping).error();
  // What is shared is no help in the core file of a crashed process, and may be large.
  madvise(mapping->data(), mapping->bytes(), MADV_DONTDUMP);
  return catching([&] {
    auto range = std::make_shared<const MappedRange>(*std::move(mapping), begin);
    if (const auto other = by_offset_.find(begin); other != by_offset_.end())
      by_address_.erase(other->second->at(begin));
    by_offset_.insert_or_assign(begin, range);
    by_address_.emplace(range->at(begin), range.get());
    return Result<std::shared_ptr<const MappedRange>>(std::move(range));
  });
}

void MappedRanges::forget(std::uint64_t begin, std::uint64_t end) noexcept {
  const std::scoped_lock lock(mutex_);
  const auto first = by_offset_.lower_bound(begin);
  const auto last = by_offset_.lower_bound(end);
  for (auto each = first; each != last; ++each) by_address_.erase(each->second->at(each->first));
  by_offset_.erase(first, last);
}

void MappedRanges::forget_idle() noexcept {
  std::erase_if(by_offset_, [this](const auto& each) {
    const bool idle = each.second.use_count() == 1;
    if (idle) by_address_.erase(each.second->at(each.first));
    return idle;
  });
}

std::optional<std::uint64_t> MappedRanges::offset_of(const std::byte* data) const {
  const std::scoped_lock lock(mutex_);
  const auto after = by_address_.upper_bound(data);
  if (after == by_address_.begin()) return std::nullopt;
  const MappedRange& range = *std::prev(after)->second;
  const auto offset = static_cast<std::uint64_t>(data - range.at(range.begin()));
  return offset < range.end() - range.begin() ? std::optional(range.begin() + offset) : std::nullopt;
}

}  // namespace drapps
