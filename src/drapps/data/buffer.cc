#include "drapps/data/buffer.h"

#include <new>
#include <string>
#include <utility>

namespace drapps {
namespace {

constexpr std::size_t kGranule = 4096;

std::size_t charged(std::size_t capacity) { return capacity + kPadding; }

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
  if (capacity < bytes || !ledger_->try_reserve(charged(capacity))) {
    return Error{.code = ErrorCode::kResourceExhausted,
                 .message = "a buffer of " + std::to_string(capacity) +
                            " bytes does not fit the RAM budget, of which " + std::to_string(ledger_->used()) + " of " +
                            std::to_string(ledger_->limit()) + " bytes are in use; raise ram_budget"};
  }
  data_ = static_cast<std::uint8_t*>(::operator new(charged(capacity), std::align_val_t{kAlignment}, std::nothrow));
  if (data_ == nullptr) {
    ledger_->release(charged(capacity));
    return Error{.code = ErrorCode::kResourceExhausted,
                 .message = "the system has no " + std::to_string(capacity) + " bytes of memory left"};
  }
  capacity_ = capacity;
  return ok_status();
}

void Buffer::reset() noexcept {
  if (data_ == nullptr) return;
  ::operator delete(data_, std::align_val_t{kAlignment});
  ledger_->release(charged(capacity_));
  data_ = nullptr;
  capacity_ = 0;
}

}  // namespace drapps
