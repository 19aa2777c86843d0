#include "drapps/text/bpe/reached_tokens.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <utility>

#include "drapps/text/bpe/merger.h"

namespace drapps::text {
namespace {

constexpr std::size_t kStepsAtOnce = 16;
constexpr std::size_t kLongestInSteps = 32;

/// The merges of one token, in steps. Each ends where it wants memory that is in no cache, which it has fetched:
/// meanwhile others do theirs.
class MergeSteps {
 public:
  /// Begins the merges of a token of 2 to kLongestInSteps bytes that have ids.
  void begin(const BpeModel& model, const TokenBytes& token, std::size_t number) {
    count_ = size_ = static_cast<std::uint8_t>(token.bytes.size());
    number_ = number;
    is_joined_ = false;
    for (std::uint8_t i = 0; i < size_; ++i) {
      ids_[i] = model.byte_ids[static_cast<std::uint8_t>(token.bytes[i])];
      next_[i] = static_cast<std::uint8_t>(i + 1);
      previous_[i] = static_cast<std::uint8_t>(i - 1);
      pairs_[i] = kNoPair;
      if (i + 1 < size_) put(i, model.byte_pairs[byte_pair(token.bytes[i], token.bytes[i + 1])]);
    }
    choose(model);
  }

  /// False where no merge was left.
  bool step(const BpeModel& model) {
    if (least_ == kNoPair) return false;
    is_joined_ = !is_joined_;
    is_joined_ ? join(model) : look_up(model);
    return true;
  }

  /// The token's place in its list.
  std::size_t number() const noexcept { return number_; }
  /// Whether all of it has become this.
  bool is(TokenId id) const noexcept { return count_ == 1 && ids_[0] == id; }

 private:
  // A pair is its rank and, in the low byte, its place.
  static constexpr std::int32_t kNoPair = std::numeric_limits<std::int32_t>::max();

  void put(std::uint8_t left, std::uint32_t rank) noexcept {
    pairs_[left] = rank == PairTable::kNone ? kNoPair : static_cast<std::int32_t>(rank << 8 | left);
  }
  std::uint8_t place() const noexcept { return static_cast<std::uint8_t>(least_ & 0xFF); }

  void choose(const BpeModel& model) noexcept {
    least_ = *std::min_element(pairs_.begin(), pairs_.begin() + size_);
    if (least_ != kNoPair) __builtin_prefetch(&model.merged[static_cast<std::uint32_t>(least_) >> 8]);
  }

  void join(const BpeModel& model) noexcept {
    const std::uint8_t left = place(), right = next_[left], behind = next_[right];
    ids_[left] = model.merged[static_cast<std::uint32_t>(least_) >> 8];
    next_[left] = behind;
    pairs_[left] = pairs_[right] = kNoPair;
    --count_;
    if (behind < size_) {
      previous_[behind] = left;
      model.pairs.fetch(ids_[left], ids_[behind]);
    }
    if (left > 0) model.pairs.fetch(ids_[previous_[left]], ids_[left]);
  }

  void look_up(const BpeModel& model) noexcept {
    const std::uint8_t left = place(), behind = next_[left];
    if (behind < size_) put(left, model.pairs.find(ids_[left], ids_[behind]));
    if (left > 0) put(previous_[left], model.pairs.find(ids_[previous_[left]], ids_[left]));
    choose(model);
  }

  std::size_t number_ = 0;
  std::int32_t least_ = kNoPair;
  std::uint8_t size_ = 0;
  std::uint8_t count_ = 0;  // ids that are left
  bool is_joined_ = false;  // the last step joined two, and their new neighbours are not looked up yet
  std::array<TokenId, kLongestInSteps> ids_{};
  std::array<std::int32_t, kLongestInSteps> pairs_{};
  std::array<std::uint8_t, kLongestInSteps> next_{}, previous_{};
};

/// Goes through tokens; those that take no steps are decided at once.
class ReachedTokens {
 public:
  ReachedTokens(const BpeModel& model, const std::vector<TokenBytes>& tokens)
      : model_(model), tokens_(tokens), merger_(model), reached_(tokens.size()) {}

  std::vector<bool> find() && {
    std::array<MergeSteps, kStepsAtOnce> steps;
    std::size_t busy = 0;
    while (busy < kStepsAtOnce && begin_next(steps[busy])) ++busy;
    while (busy > 0) {
      for (std::size_t i = 0; i < busy;) {
        if (steps[i].step(model_)) {
          ++i;
          continue;
        }
        reached_[steps[i].number()] = steps[i].is(tokens_[steps[i].number()].id);
        if (begin_next(steps[i]))
          ++i;
        else
          steps[i] = steps[--busy];
      }
    }
    return std::move(reached_);
  }

 private:
  bool begin_next(MergeSteps& steps) {
    for (; next_ < tokens_.size(); ++next_) {
      const TokenBytes& token = tokens_[next_];
      const bool all = std::ranges::all_of(
          token.bytes, [&](char byte) { return model_.byte_ids[static_cast<std::uint8_t>(byte)] >= 0; });
      if (all && token.bytes.size() >= 2 && token.bytes.size() <= kLongestInSteps) {
        steps.begin(model_, token, next_++);
        return true;
      }
      reached_[next_] = is_merged(token);
    }
    return false;
  }

  bool is_merged(const TokenBytes& token) {
    ids_.resize(token.bytes.size());
    return merger_.merge(token.bytes, ids_.data()) == 1 && ids_[0] == token.id;
  }

  const BpeModel& model_;
  const std::vector<TokenBytes>& tokens_;
  Merger merger_;
  std::vector<TokenId> ids_;
  std::vector<bool> reached_;
  std::size_t next_ = 0;
};

}  // namespace

void keep_reached(const BpeModel& model, std::vector<TokenBytes>& tokens) {
  const std::vector<bool> reached = ReachedTokens(model, tokens).find();
  std::size_t kept = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (reached[i]) tokens[kept++] = tokens[i];
  }
  tokens.resize(kept);
}

}  // namespace drapps::text
