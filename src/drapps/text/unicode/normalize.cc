#include "drapps/text/unicode/normalize.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "drapps/base/never_destroyed.h"
#include "drapps/text/unicode/form_tables.h"
#include "drapps/text/unicode/runs.h"
#include "drapps/text/unicode/utf8.h"

namespace drapps::text {
namespace {

// Hangul, by the arithmetic of the Unicode Standard, section 3.12.
constexpr char32_t kSyllables = 0xAC00, kLeads = 0x1100, kVowels = 0x1161, kTails = 0x11A7;
constexpr char32_t kLeadCount = 19, kVowelCount = 21, kTailCount = 28;
constexpr char32_t kSyllableCount = kLeadCount * kVowelCount * kTailCount;

/// What the tables are looked up in.
struct FormTables {
  struct PointParts {
    char32_t point;
    std::uint32_t at;  // its parts in kDecompositions
    std::uint32_t size;
  };

  std::vector<std::uint8_t> bits = expand_runs(kFormRuns);
  std::vector<std::uint8_t> combining = expand_runs(kCombiningRuns);
  std::vector<PointParts> parts[2];  // by kind

  FormTables() {
    for (std::uint32_t at = 0; at < kDecompositions.size();) {
      const std::uint32_t word = kDecompositions[at++];
      const std::uint32_t size = word & 0x7F;
      parts[word >> 7 & 1].push_back({word >> 8, at, size});
      at += size;
    }
  }

  /// The full decomposition, or nothing.
  std::span<const std::uint32_t> decomposed(int kind, char32_t point) const {
    const auto before = [](const PointParts& each, char32_t wanted) { return each.point < wanted; };
    const auto entry = std::lower_bound(parts[kind].begin(), parts[kind].end(), point, before);
    if (entry == parts[kind].end() || entry->point != point) return {};
    return kDecompositions.subspan(entry->at, entry->size);
  }
};

const FormTables& form_tables() {
  static const NeverDestroyed<FormTables> tables;
  return *tables;
}

/// What two characters compose to, or 0.
char32_t composed(char32_t first, char32_t second) {
  if (first - kLeads < kLeadCount && second - kVowels < kVowelCount) {
    return kSyllables + ((first - kLeads) * kVowelCount + (second - kVowels)) * kTailCount;
  }
  if (first - kSyllables < kSyllableCount && (first - kSyllables) % kTailCount == 0 && second > kTails &&
      second - kTails < kTailCount) {
    return first + (second - kTails);
  }
  std::size_t low = 0;
  std::size_t high = kCompositions.size() / 3;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    const std::uint32_t* const entry = &kCompositions[3 * middle];
    if (entry[0] == first && entry[1] == second) return entry[2];
    const bool before = entry[0] < first || (entry[0] == first && entry[1] < second);
    (before ? low : high) = before ? middle + 1 : middle;
  }
  return 0;
}

struct Letter {
  char32_t point;
  std::uint32_t place;  // of it in the stretch
  std::uint8_t combining;
};

/// Stretches of text that the form changes, one after the other.
class FormNormalizer {
 public:
  FormNormalizer(Form form, std::string& out)
      : tables_(form_tables()),
        composes_(form == Form::kNfc || form == Form::kNfkc),
        compatible_(form == Form::kNfkc || form == Form::kNfkd),
        out_(out) {}

  /// Appends a stretch before which and behind which there is a boundary.
  void append(Place p, Place end) {
    letters_.clear();
    for (; p < end;) {
      const CodePoint point = decode_utf8(p);
      decompose(point.value);
      p += point.size;
    }
    order();
    if (composes_) compose();
    for (const Letter& letter : letters_) append_utf8(letter.point, out_);
  }

 private:
  void push(char32_t point) {
    letters_.push_back({point, static_cast<std::uint32_t>(letters_.size()), tables_.combining[point]});
  }

  void decompose(char32_t point) {
    if (point - kSyllables < kSyllableCount) {
      const char32_t index = point - kSyllables;
      push(kLeads + index / (kVowelCount * kTailCount));
      push(kVowels + index / kTailCount % kVowelCount);
      if (index % kTailCount != 0) push(kTails + index % kTailCount);
      return;
    }
    auto parts = compatible_ ? tables_.decomposed(1, point) : std::span<const std::uint32_t>();
    if (parts.empty()) parts = tables_.decomposed(0, point);
    if (parts.empty()) return push(point);
    for (const std::uint32_t part : parts) push(part);
  }

  void order() {
    const auto is_mark = [](const Letter& letter) { return letter.combining != 0; };
    for (auto begin = letters_.begin();;) {
      begin = std::find_if(begin, letters_.end(), is_mark);
      if (begin == letters_.end()) return;
      const auto end = std::find_if_not(begin, letters_.end(), is_mark);
      std::sort(begin, end, [](const Letter& a, const Letter& b) {
        return a.combining != b.combining ? a.combining < b.combining : a.place < b.place;
      });
      begin = end;
    }
  }

  void compose() {
    constexpr std::size_t kNone = ~std::size_t{0};
    std::size_t starter = kNone;  // that what follows may compose with
    std::size_t kept = 0;
    int last = -1;  // combining class of what was kept behind the starter; -1 for nothing
    for (const Letter letter : letters_) {
      if (starter != kNone && last < letter.combining) {
        if (const char32_t both = composed(letters_[starter].point, letter.point); both != 0) {
          letters_[starter].point = both;
          continue;
        }
      }
      letters_[kept] = letter;
      if (letter.combining == 0) {
        starter = kept;
        last = -1;
      } else {
        last = letter.combining;
      }
      ++kept;
    }
    letters_.resize(kept);
  }

  const FormTables& tables_;
  const bool composes_;
  const bool compatible_;
  std::string& out_;
  std::vector<Letter> letters_;
};

}  // namespace

bool normalize(Form form, std::string_view text, std::string& out) {
  const std::uint8_t* const bits = form_tables().bits.data();
  const auto keeps = static_cast<std::uint8_t>(1 << static_cast<int>(form));
  const auto begins = static_cast<std::uint8_t>(keeps << 4);
  const Place begin = reinterpret_cast<Place>(text.data());
  const Place end = begin + text.size();
  Place done = begin;  // up to here `out` has everything
  Place last = begin;  // the character before `p`, or `p`
  bool changed = false;
  FormNormalizer normalizer(form, out);
  for (Place p = begin; p < end;) {
    if (*p < 0x80) {
      last = p++;
      std::uint64_t word = 0;
      while (end - p >= 8 && (std::memcpy(&word, p, 8), (word & 0x8080808080808080U) == 0)) p += 8, last = p - 1;
      continue;
    }
    const CodePoint point = decode_utf8(p);
    const std::uint8_t here = bits[point.value];
    if (here & keeps) {
      last = p;
      p += point.size;
      continue;
    }
    const Place from = here & begins ? p : last;
    for (p += point.size; p < end; p += decode_utf8(p).size) {
      if (bits[decode_utf8(p).value] & begins) break;
    }
    if (!changed) out.clear();
    changed = true;
    out.append(reinterpret_cast<const char*>(done), static_cast<std::size_t>(from - done));
    normalizer.append(from, p);
    done = last = p;
  }
  if (changed) out.append(reinterpret_cast<const char*>(done), static_cast<std::size_t>(end - done));
  return changed && out != text;
}

}  // namespace drapps::text
