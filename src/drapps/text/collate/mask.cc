#include "drapps/text/collate/mask.h"

#include <algorithm>
#include <array>

namespace drapps::text {
namespace {

/// The words of one block of a row; `down` is how far its ordinal stands below kOrdinalMask.
std::array<std::uint32_t, 4> words_at(const Coordinate& at, std::uint64_t block, std::uint16_t down) {
  const auto ordinal = static_cast<std::uint16_t>(kOrdinalMask - down - 2 * (block >> 16));
  return philox4x32({static_cast<std::uint32_t>(at.position), static_cast<std::uint32_t>(at.position >> 32), at.epoch,
                     static_cast<std::uint32_t>(ordinal) << 16 | static_cast<std::uint32_t>(block & 0xFFFF)},
                    {static_cast<std::uint32_t>(at.seed), static_cast<std::uint32_t>(at.seed >> 32)});
}

/// One word for each token of a row, four to a block.
class Chances {
 public:
  explicit Chances(const Coordinate& at) noexcept : at_(at) {}

  double of(std::size_t token) noexcept {
    if (token / 4 != block_) {
      block_ = token / 4;
      words_ = words_at(at_, block_, 0);
    }
    return words_[token % 4] * 0x1p-32;
  }

 private:
  Coordinate at_;
  std::uint64_t block_ = ~std::uint64_t{0};
  std::array<std::uint32_t, 4> words_{};
};

/// What becomes of a token that was chosen.
std::int64_t replacement(std::int64_t id, const Masking& masking, const Coordinate& at, std::size_t token) {
  const std::array<std::uint32_t, 4> words = words_at(at, token, 1);
  const double where = words[0] * 0x1p-32;
  if (where < masking.replaced) return masking.mask_id;
  if (where >= masking.replaced + masking.random) return id;
  const std::uint64_t bound = masking.vocabulary;
  return static_cast<std::int64_t>((words[1] * bound + (words[2] * bound >> 32)) >> 32);
}

/// Chooses tokens of a row, each by itself.
void choose_tokens(std::span<const std::int64_t> special, double probability, const Coordinate& at,
                   std::span<std::uint8_t> chosen) {
  Chances chances(at);
  for (std::size_t token = 0; token < chosen.size(); ++token) {
    chosen[token] = special[token] == 0 && chances.of(token) < probability;
  }
}

/// Chooses words of a row: a token begins one where a gap, or a special token, is in front of it.
void choose_words(std::span<const std::int64_t> special, std::span<const std::int64_t> places, double probability,
                  const Coordinate& at, std::span<std::uint8_t> chosen) {
  Chances chances(at);
  bool word = false;
  for (std::size_t token = 0; token < chosen.size(); ++token) {
    chosen[token] = 0;
    if (special[token] != 0) continue;
    const std::int64_t before = token == 0 ? -1 : places[2 * token - 1];
    const bool behind_special = token != 0 && special[token - 1] == 1;
    if (places[2 * token] != before || behind_special) word = chances.of(token) < probability;
    chosen[token] = word;
  }
}

}  // namespace

void mask_tokens(const MaskedBatch& batch, const Masking& masking, Coordinate first) {
  const std::size_t width = batch.width;
  const std::size_t rows = width == 0 ? 0 : batch.ids.size() / width;
  std::vector<std::uint8_t> chosen(width);
  for (std::size_t row = 0; row < rows; ++row) {
    Coordinate at = first;
    at.position += row;
    const auto special = batch.special.subspan(row * width, width);
    if (masking.whole_words) {
      choose_words(special, batch.places.subspan(2 * row * width, 2 * width), masking.probability, at, chosen);
    } else {
      choose_tokens(special, masking.probability, at, chosen);
    }
    for (std::size_t token = 0; token < width; ++token) {
      std::int64_t& id = batch.ids[row * width + token];
      batch.labels[row * width + token] = chosen[token] != 0 ? id : kIgnored;
      if (chosen[token] != 0) id = replacement(id, masking, at, token);
    }
  }
}

std::vector<std::int64_t> special_mask(std::span<const std::int64_t> ids, std::span<const std::int64_t> special) {
  std::vector<std::int64_t> mask(ids.size());
  std::ranges::transform(ids, mask.begin(), [&](std::int64_t id) -> std::int64_t {
    return std::ranges::binary_search(special, id) ? 1 : 0;
  });
  return mask;
}

}  // namespace drapps::text
