// Texts, or pairs of them, as the rows of a batch: cut to a length, put into a template, padded.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "drapps/base/result.h"
#include "drapps/text/tokenizer.h"

namespace drapps::text {

/// Which of two texts is cut where a row is too long.
enum class Cutting : std::uint8_t { kNone, kLongestFirst, kFirst, kSecond };
/// How long rows are made.
enum class Padding : std::uint8_t { kNone, kLongest, kLength };

struct RowOptions {
  bool specials = true;      // put texts into the template
  bool overflowing = false;  // what is cut off makes rows too
  bool types = false;        // fill types, and so on
  bool attention = false;
  bool special_mask = false;
  bool places = false;
  Cutting cutting = Cutting::kNone;
  std::size_t max_length = 0;  // of a row that is cut
  std::size_t stride = 0;      // tokens that a row of what was cut off shares with the one before
  bool cut_left = false;
  Padding padding = Padding::kNone;
  std::size_t length = 0;    // for Padding::kLength
  std::size_t multiple = 0;  // to which the length is rounded up; 0: to none
  bool pad_left = false;
  std::int64_t pad_id = 0;
  std::int64_t pad_type = 0;
};

/// Rows one behind the other; columns that were not asked for are empty.
struct Rows {
  std::vector<std::int64_t> begins;   // of each row, and the end of the last
  std::vector<std::int64_t> samples;  // the text that each row is of
  std::vector<std::int64_t> ids;
  std::vector<std::int64_t> types;
  std::vector<std::int64_t> attention;     // 0 where a row is padded
  std::vector<std::int64_t> special_mask;  // 1 for tokens of the template and padding
  std::vector<std::int64_t> places;        // first character and the one behind the last, side by side
};

/// The rows of `texts`, or of pairs with as many `seconds`; each in valid UTF-8. Resources as in Tokenizer::encode().
/// @return kUnsupported for what only `tokenizers` knows to answer, mostly with an error; kTooLarge and
///     kResourceExhausted as Tokenizer::encode().
Result<Rows> make_rows(const Tokenizer& tokenizer, const std::vector<std::string_view>& texts,
                       const std::vector<std::string_view>* seconds, const RowOptions& options,
                       const CallResources& resources = {});

}  // namespace drapps::text
