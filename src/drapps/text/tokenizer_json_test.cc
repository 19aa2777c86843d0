#include "drapps/text/tokenizer_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "drapps/text/byte_chars.h"

namespace drapps::text {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A tokenizer.json of a vocabulary of a few letters, with a part of it replaced.
std::string file_with(const std::string& part = "", const std::string& by = "") {
  std::string json = R"({"normalizer": null, "truncation": null, "padding": null,
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
    "decoder": {"type": "ByteLevel"},
    "post_processor": {"type": "TemplateProcessing",
      "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
      "special_tokens": {"<s>": {"id": "<s>", "ids": [6], "tokens": ["<s>"]}}},
    "added_tokens": [{"id": 6, "content": "<s>", "lstrip": true, "rstrip": false, "normalized": false,
                      "single_word": false, "special": true}],
    "model": {"type": "BPE", "dropout": null, "unk_token": null, "ignore_merges": false,
      "vocab": {"a": 0, "b": 1, "Ġ": 2, "ab": 3, "Ġab": 4, "c": 5}, "merges": ["a b", ["Ġ", "ab"]]}})";
  if (!part.empty()) json.replace(json.find(part), part.size(), by);
  return json;
}

std::vector<TokenId> ids_of(const Tokenizer& tokenizer, const std::string& text, bool specials = false) {
  auto encoded = tokenizer.encode({text}, 1, {.specials = specials});
  if (!encoded.ok()) return {};
  return {encoded->ids.data(), encoded->ids.data() + encoded->ids.size()};
}

TEST(TokenizerJson, IsReadWhole) {
  auto parts = parse_tokenizer_json(file_with());
  ASSERT_TRUE(parts.ok()) << parts.error().message;
  const Tokenizer tokenizer(std::move(parts).value());
  EXPECT_EQ(tokenizer.vocabulary(), 7u);
  EXPECT_THAT(ids_of(tokenizer, "ab ab c"), ElementsAre(3, 4, 2, 5));
  EXPECT_THAT(ids_of(tokenizer, "ab  <s>ab", true), ElementsAre(6, 3, 6, 3));
  EXPECT_EQ(tokenizer.decode({6, 3, 4, 99}, true, true).value(), "ab ab");
  EXPECT_EQ(tokenizer.decode({6, 3}, false, true).value(), "<s>ab");
  EXPECT_FALSE(tokenizer.decode({99}, false, false).ok());
}

TEST(TokenizerJson, ThreadsAndTextsDoNotShow) {
  MemoryLedger memory(3 * Encoder::kMemory);  // of no more than three threads
  auto parts = parse_tokenizer_json(file_with());
  ASSERT_TRUE(parts.ok());
  const Tokenizer tokenizer(std::move(parts).value());
  std::vector<std::string_view> texts;
  for (int i = 0; i < 100; ++i) texts.insert(texts.end(), {"ab", "", "ab <s> cab", "c"});
  WorkerGroup workers;
  workers.set_budget(7, CpuBudget::kUnlimited);
  const auto one = tokenizer.encode(texts, 1, {});
  for (const unsigned threads : {0u, 2u, 7u, 1000u}) {
    const auto many = tokenizer.encode(texts, threads, {}, {&workers, 7, &memory});
    ASSERT_TRUE(many.ok());
    EXPECT_EQ(many->offsets, one->offsets);
    EXPECT_TRUE(std::equal(many->ids.data(), many->ids.data() + many->ids.size(), one->ids.data()));
    EXPECT_LE(memory.used(), memory.limit());
  }
  EXPECT_GT(memory.used(), 0u);
}

TEST(TokenizerJson, NormalisesTextAndRepairsIt) {
  const std::string nfc = R"("normalizer": {"type": "Sequence", "normalizers": [{"type": "NFKC"}]})";
  std::string json = file_with(R"("normalizer": null)", nfc);
  json.replace(json.find(R"("c": 5)"), 6, R"("c": 5, "Ã": 6, "©": 7)");  // the bytes of an accented e
  json.replace(json.find(R"("id": 6)"), 7, R"("id": 8)");
  auto parts = parse_tokenizer_json(json);
  ASSERT_TRUE(parts.ok()) << parts.error().message;
  const Tokenizer tokenizer(std::move(parts).value());
  EXPECT_THAT(ids_of(tokenizer, "\uFF41b e\u0301"), ElementsAre(3, 2, 6, 7));
  const auto repaired = tokenizer.encode({"ab\xFF\xFF"}, 1, {.specials = false, .repair = true});
  ASSERT_TRUE(repaired.ok());
  EXPECT_EQ(repaired->ids.size(), 1u);  // nothing here stands for U+FFFD
}

TEST(TokenizerJson, RefusesWhatWouldNotBeExact) {
  const std::pair<const char*, const char*> changes[] = {
      {R"("normalizer": null)", R"("normalizer": {"type": "Lowercase"})"},
      {R"("truncation": null)", R"("truncation": {"max_length": 8})"},
      {R"("add_prefix_space": false)", R"("add_prefix_space": true)"},
      {R"("type": "ByteLevel")", R"("type": "Whitespace")"},
      {R"("type": "BPE")", R"("type": "WordPiece")"},
      {R"("dropout": null)", R"("dropout": 0.1)"},
      {R"("unk_token": null)", R"("unk_token": "a")"},
      {R"("single_word": false)", R"("single_word": true)"},
      {R"({"id": 6, "content")", R"({"id": 9, "content")"},
      {R"("c": 5)", R"("c": 4)"},
      {R"("type": "TemplateProcessing")", R"("type": "BertProcessing")"},
  };
  for (const auto& [part, by] : changes) {
    const auto parts = parse_tokenizer_json(file_with(part, by));
    ASSERT_FALSE(parts.ok()) << by;
    EXPECT_EQ(parts.error().code, ErrorCode::kUnsupported) << by << parts.error().message;
    EXPECT_FALSE(parts.error().message.empty());
  }
}

TEST(TokenizerJson, SaysWhatIsDamaged) {
  const std::tuple<const char*, const char*, const char*> changes[] = {
      {R"("a b")", R"("a b c")", "merge 0 that is no pair"},
      {R"(["Ġ", "ab"])", R"(["Ġ", "x"])", "'x' in merge 1"},
      {R"("ab": 3)", R"("ab": -3)", "'ab' the id -3"},
      {R"("ab": 3)", R"("ab": 5000000000)", "5000000000"},
      {R"("ab": 3, "Ġab": 4)", R"("ab": 3)", "'Ġab' in merge 1"},
      {R"("vocab")", R"("vocabulary")", "no vocabulary"},
      {R"("model")", R"("modal")", "has no model"},
      {R"("content": "<s>")", R"("contents": "<s>")", "added token without content"},
      {R"("ids": [6])", R"("ids": [-6])", "id -6"},
  };
  for (const auto& [part, by, message] : changes) {
    const auto parts = parse_tokenizer_json(file_with(part, by));
    ASSERT_FALSE(parts.ok()) << by;
    EXPECT_EQ(parts.error().code, ErrorCode::kCorrupt) << by;
    EXPECT_THAT(parts.error().message, HasSubstr(message));
  }
  const std::string whole = file_with();
  for (std::size_t size = 0; size < whole.size(); size += 7) {
    const auto parts = parse_tokenizer_json(std::string_view(whole).substr(0, size));
    ASSERT_FALSE(parts.ok()) << size;
    EXPECT_NE(parts.error().code, ErrorCode::kUnsupported) << size;
  }
}

TEST(TokenizerJson, IsBoundedWhateverIsInIt) {
  const auto refused = [](const std::string& json) {
    const auto parts = parse_tokenizer_json(json);
    return parts.ok() ? std::string() : std::string(name_of(parts.error().code)) + ": " + parts.error().message;
  };
  EXPECT_THAT(refused(std::string(1 << 20, '[')), HasSubstr("lists in lists"));
  std::string many = "[0";
  for (int i = 0; i < 300'000; ++i) many += ",0";
  EXPECT_THAT(refused(many), HasSubstr("more in it than any tokenizer"));
  EXPECT_THAT(refused(file_with(R"("ab": 3)", R"("ab": {"x": [3]})")), HasSubstr("'ab' the id an object"));
  EXPECT_THAT(refused(file_with(R"("a b")", R"({"a": "b"})")), HasSubstr("merge 0 that is no pair"));
  EXPECT_THAT(refused(file_with(R"(["Ġ", "ab"])", R"(["Ġ", ["ab"]])")), HasSubstr("merge 1 that is no pair"));
  EXPECT_THAT(refused(file_with(R"("ab": 3)", R"("ab": 3, "ab": 7)")), HasSubstr("the token ab twice"));
  EXPECT_THAT(refused(R"({"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},
                          "model": {"type": "Unigram", "vocab": [["a", -1.5], ["b", {"x": 1}]]}})"),
              HasSubstr("the model \"Unigram\""));
}

TEST(ByteChars, AreGpt2s) {
  std::string bytes;
  EXPECT_TRUE(to_bytes("aĠĊ\u00E9\u0143", bytes));
  EXPECT_EQ(bytes, "a \n\xE9\xAD");
  EXPECT_FALSE(to_bytes("\u4E2D", bytes));
  EXPECT_FALSE(to_bytes("a b", bytes));
}

}  // namespace
}  // namespace drapps::text
