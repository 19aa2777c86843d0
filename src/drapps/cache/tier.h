// A place where what was made of records once is kept for every later pass.
//
// An entry is bytes in some form (form/form.h), under an identity that says which part of which record they are, and
// what they were made with where that shows in them. What is kept for who is there is never dropped for another entry:
// under a fresh permutation each epoch all are asked for equally often, so what would take its place is worth no more.
// It leaves only where its file has changed, or for memory that others need. Entries of who has left are kept as long
// as there is room for them, for others may ask for the same records; then they are the first to go.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>

#include "drapps/base/result.h"
#include "drapps/cache/form/form.h"
#include "drapps/source/identity.h"

namespace drapps::cache {

/// Who has joined a tier.
struct Member {
  std::uint64_t entries = 0;  // that it expects
  std::size_t budget = 0;     // bytes that it gives
  std::uint16_t number = 0;
};

/// Which entry: what it is called, and in which state its file was (state_of() of storage/file_identity.h, or any
/// number for what cannot change). And the number of the member that asks for it.
struct Key {
  RecordIdentity id;
  std::uint64_t state = 0;
  std::uint16_t member = 0;
};

/// What became of an offer.
enum class Admission : std::uint8_t {
  kAdmitted,
  kFull,    // there is no room for it; a smaller entry may still find some
  kExists,  // it is kept already
};

class Tier;

/// An entry that stays where it is as long as this lives. One thread; moved, not copied.
class View {
 public:
  View() noexcept = default;
  View(Tier& tier, std::uint64_t place, FormId form, std::span<const std::uint8_t> bytes) noexcept
      : tier_(&tier), place_(place), form_(form), bytes_(bytes) {}
  View(View&& other) noexcept
      : tier_(std::exchange(other.tier_, nullptr)), place_(other.place_), form_(other.form_), bytes_(other.bytes_) {}
  View& operator=(View&& other) noexcept {
    if (this == &other) return *this;
    reset();
    tier_ = std::exchange(other.tier_, nullptr);
    place_ = other.place_;
    form_ = other.form_;
    bytes_ = other.bytes_;
    return *this;
  }
  ~View() { reset(); }

  /// False for a miss.
  explicit operator bool() const noexcept { return tier_ != nullptr; }
  FormId form() const noexcept { return form_; }
  /// Of arrays, kPadding bytes behind them may be read.
  std::span<const std::uint8_t> bytes() const noexcept { return bytes_; }
  inline void reset() noexcept;

 private:
  Tier* tier_ = nullptr;
  std::uint64_t place_ = 0;
  FormId form_ = FormId::kBytes;
  std::span<const std::uint8_t> bytes_;
};

/// All members may be called from any thread.
class Tier {
 public:
  virtual ~Tier() = default;

  /// Who joins expects so many entries, and gives so many bytes for all of it, the tier's own book too. Of several
  /// budgets the largest is in force; without any nothing is kept. The last one to leave takes all entries along, and
  /// requires that no view is left.
  virtual Member join(std::uint64_t entries, std::size_t budget) = 0;
  virtual void leave(const Member& member) noexcept = 0;

  virtual bool empty() const noexcept = 0;
  /// Whether an entry is kept under that identity, of whatever state.
  virtual bool has(const RecordIdentity& id) noexcept = 0;
  /// The entry, or a miss. One that was made of another state of its file is dropped, and a miss.
  virtual View get(const Key& key) noexcept = 0;

  /// Writes an entry: exactly the bytes it is given.
  using Fill = std::function<void(std::span<std::uint8_t>)>;
  /// Keeps an entry of `bytes` bytes that `fill` writes, if there is room; else `fill` is not called.
  /// @param saved_ns  of time that having it saves, each time that it is asked for.
  virtual Admission offer(const Key& key, FormId form, std::size_t bytes, std::uint64_t saved_ns, const Fill& fill) = 0;
  /// Drops an entry, once its last view is gone.
  virtual void drop(const RecordIdentity& id) noexcept = 0;
  /// Bytes that an offer may have now, those of entries whose member has left among them.
  virtual std::size_t room() const noexcept = 0;

 private:
  friend class View;
  /// A view of the entry at `place` is gone.
  virtual void unpin(std::uint64_t place) noexcept = 0;
};

void View::reset() noexcept {
  if (Tier* tier = std::exchange(tier_, nullptr)) tier->unpin(place_);
}

}  // namespace drapps::cache
