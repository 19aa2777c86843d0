#include "drapps/data/buffer.h"

#include <sys/mman.h>

#include <new>
#include <string>
#include <utility>

#include "drapps/base/mappings.h"

namespace drapps {
namespace {

constexpr std::size_t kGranule = 4096;

// From here on memory comes from the system and goes back to it. Of smaller pieces malloc keeps what is freed, tens of
// megabytes a thread once it has seen large ones (M_MMAP_THRESHOLD grows with them), and no ledger sees that.
constexpr std::size_t kMapped = std::size_t{1} << 20;

std::size_t charged(std::size_t capacity) {
  const std::size_t bytes = capacity + kPadding;
  return bytes < kMapped ? bytes : (bytes + kGranule - 1) / kGranule * kGranule;
}

std::uint8_t* allocate(std::size_t bytes) noexcept {
  if (bytes < kMapped)
    return static_cast<std::uint8_t*>(::operator new(bytes, std::align_val_t{kAlignment}, std::nothrow));
  void* const mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return mapped == MAP_FAILED ? nullptr : static_cast<std::uint8_t*>(mapped);
}

void release(std::uint8_t* data, std::size_t bytes) noexcept {
  if (bytes < kMapped) {
    ::operator delete(data, std::align_val_t{kAlignment});
  } else {
    munmap(data, bytes);
  }
}

}  // namespace

Buffer::Buffer(Buffer&& other) noexcept
    : ledger_(other.ledger_),
      data_(std::exchange(other.data_, nullptr)),
      capacity_(std::exchange(other.capacity_, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  if (this != &other) {
    reset();
    ledger_ = other.ledger_;
    data_ = std::exchange(other.data_, nullptr);
    capacity_ = std::exchange(other.capacity_, 0);
  }
  return *this;
}

Status Buffer::ensure(std::size_t bytes) {
  if (bytes <= capacity_ && data_ != nullptr) return ok_status();
  reset();
  // Growing by an eighth more than asked keeps a stream of slowly rising sizes from reallocating each time.
  const std::size_t capacity = (bytes + bytes / 8 + kGranule - 1) / kGranule * kGranule;
  if (capacity < bytes || !ledger_->reserve(charged(capacity))) {
    return Error{.code = ErrorCode::kResourceExhausted,
                 .message = "a buffer of " + std::to_string(capacity) +
                            " bytes does not fit the RAM budget, of which " + std::to_string(ledger_->whole().used()) +
                            " of " + std::to_string(ledger_->whole().limit()) + " bytes are in use; raise ram_budget"};
  }
  data_ = allocate(charged(capacity));
  if (data_ == nullptr) {
    ledger_->release(charged(capacity));
    return Error{
        .code = ErrorCode::kResourceExhausted,
        .message = "the system has no " + std::to_string(capacity) + " bytes of memory left; " + more_address_space()};
  }
  capacity_ = capacity;
  return ok_status();
}

void Buffer::reset() noexcept {
  if (data_ == nullptr) return;
  release(data_, charged(capacity_));
  ledger_->release(charged(capacity_));
  data_ = nullptr;
  capacity_ = 0;
}

}  // namespace drapps
