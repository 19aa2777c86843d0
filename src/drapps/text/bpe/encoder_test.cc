#include "drapps/text/bpe/encoder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "drapps/base/full_testing.h"
#include "drapps/text/bpe/build_model.h"
#include "drapps/text/bpe/merge_words.h"

namespace drapps::text {
namespace {

/// A vocabulary as training makes them: each merge joins two tokens that are there.
struct Vocabulary {
  std::vector<std::string> tokens;
  std::vector<MergeRule> merges;

  std::vector<TokenBytes> views() const {
    std::vector<TokenBytes> views;
    for (std::size_t id = 0; id < tokens.size(); ++id) views.push_back({tokens[id], static_cast<TokenId>(id)});
    return views;
  }
};

Vocabulary made_vocabulary(std::mt19937& random, std::size_t merges, const std::string& alphabet) {
  Vocabulary lists;
  for (int byte = 0; byte < 256; ++byte) lists.tokens.emplace_back(1, static_cast<char>(byte));
  std::map<std::string, TokenId> ids;
  std::vector<TokenId> usable;
  for (const char c : alphabet) usable.push_back(static_cast<std::uint8_t>(c));
  while (lists.merges.size() < merges) {
    const TokenId left = usable[random() % usable.size()];
    const TokenId right = usable[random() % usable.size()];
    const std::string both = lists.tokens[left] + lists.tokens[right];
    if (both.size() > 24) continue;
    auto [at, added] = ids.try_emplace(both, static_cast<TokenId>(lists.tokens.size()));
    if (added) lists.tokens.push_back(both);
    usable.push_back(at->second);
    lists.merges.push_back({left, right, at->second});
  }
  std::shuffle(lists.merges.begin(), lists.merges.end(), random);  // ranks in no order: a merge may bring a lower rank
  return lists;
}

/// The lowest rank, and among equals the leftmost, again and again.
std::vector<TokenId> naive(const Vocabulary& vocabulary, const std::string& word) {
  std::map<std::pair<TokenId, TokenId>, std::pair<std::size_t, TokenId>> ranks;
  for (std::size_t rank = 0; rank < vocabulary.merges.size(); ++rank) {
    const MergeRule& rule = vocabulary.merges[rank];
    ranks[{rule.left, rule.right}] = {rank, rule.merged};
  }
  std::vector<TokenId> ids;
  for (const char c : word) ids.push_back(static_cast<std::uint8_t>(c));
  for (;;) {
    std::size_t best = vocabulary.merges.size();
    std::size_t place = 0;
    TokenId merged = 0;
    for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
      const auto merge = ranks.find({ids[i], ids[i + 1]});
      if (merge != ranks.end() && merge->second.first < best) {
        best = merge->second.first;
        merged = merge->second.second;
        place = i;
      }
    }
    if (best == vocabulary.merges.size()) return ids;
    ids[place] = merged;
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(place) + 1);
  }
}

std::string made_word(std::mt19937& random, const std::string& alphabet, std::size_t size) {
  std::string word;
  while (word.size() < size) word += alphabet[random() % alphabet.size()];
  return word;
}

std::vector<TokenId> encoded(Encoder& encoder, const std::string& text) {
  IdBuffer ids;
  encoder.encode(text, ids);
  return {ids.data(), ids.data() + ids.size()};
}

TEST(Merger, MergesAsTheDefinitionSays) {
  std::mt19937 random(7);
  const int rounds = full_tests() ? 400 : 100;
  for (const char* alphabet : {"ab", "abcdefgh"}) {
    const Vocabulary vocabulary = made_vocabulary(random, 200, alphabet);
    const BpeModel model = model_of_merges(vocabulary.views(), vocabulary.merges, false);
    Merger merger(model);
    for (int round = 0; round < rounds; ++round) {
      const std::size_t size = round % 4 == 0 ? Merger::kShort - 2 + random() % 400 : 1 + random() % Merger::kShort;
      const std::string word = made_word(random, alphabet, size);
      std::vector<TokenId> ids(word.size());
      ids.resize(merger.merge(word, ids.data()));
      ASSERT_EQ(ids, naive(vocabulary, word)) << word;
    }
  }
}

TEST(MergeWords, WritesTheSameAtEveryLevel) {
  std::mt19937 random(6);
  const int rounds = full_tests() ? 2000 : 100;
  std::size_t crowded = 0;  // lines of a pair table beyond which pairs may lie
  for (const char* alphabet : {"ab", "abcdefgh"}) {
    const Vocabulary vocabulary = made_vocabulary(random, 2000, alphabet);
    std::vector<TokenBytes> tokens = vocabulary.views();
    std::erase_if(tokens, [](const TokenBytes& token) { return token.bytes == "b"; });  // a byte without an id
    for (const std::vector<TokenBytes>& given : {vocabulary.views(), tokens}) {
      const BpeModel model = model_of_merges(given, vocabulary.merges, false);
      for (const MergeRule& merge : vocabulary.merges) {
        crowded += model.pairs.words_of(PairTable::key_of(merge.left, merge.right))[PairTable::kWords - 1] !=
                   PairTable::kEmpty;
      }
      Merger merger(model);
      for (int round = 0; round < rounds; ++round) {
        std::vector<std::string> words(random() % 80);
        for (std::string& word : words) word = made_word(random, alphabet, 1 + random() % kMaxWord);
        const std::vector<std::string_view> views(words.begin(), words.end());
        for (const kernel::Level level : kernel::supported_levels()) {
          std::vector<MergedWord> merged(words.size());
          merge_words_of(level)(model, views, merged.data());
          for (std::size_t i = 0; i < words.size(); ++i) {
            std::vector<TokenId> ids(kMaxWord);
            ids.resize(merger.merge(words[i], ids.data()));
            ASSERT_EQ(merged[i].tokens, ids.size()) << words[i] << " by " << kernel::name_of(level);
            if (ids.size() > MergedWord::kMaxIds) continue;
            ASSERT_TRUE(std::ranges::equal(ids, std::span(merged[i].ids).first(ids.size())))
                << words[i] << " by " << kernel::name_of(level);
          }
        }
      }
    }
  }
  EXPECT_GT(crowded, 0u);
}

TEST(Model, HasTheTokensThatItsMergesLeadTo) {
  std::mt19937 random(11);
  std::size_t reached = 0, long_ones = 0, others = 0;
  for (const char* alphabet : {"ab", "abcdefgh"}) {
    Vocabulary vocabulary = made_vocabulary(random, 300, alphabet);
    for (int i = 0; i < 40; ++i) {  // longer than those are
      const auto id = static_cast<TokenId>(256 + random() % (vocabulary.tokens.size() - 256));
      const std::string both = vocabulary.tokens[id] + vocabulary.tokens[id];
      if (std::ranges::find(vocabulary.tokens, both) != vocabulary.tokens.end()) continue;
      vocabulary.merges.push_back({id, id, static_cast<TokenId>(vocabulary.tokens.size())});
      vocabulary.tokens.push_back(both);
    }
    std::vector<TokenBytes> tokens = vocabulary.views();
    std::erase_if(tokens, [](const TokenBytes& token) { return token.bytes == "b"; });  // a byte without an id
    for (const std::vector<TokenBytes>& given : {vocabulary.views(), tokens}) {
      const BpeModel model = model_of_merges(given, vocabulary.merges, false);
      Merger merger(model);
      for (const TokenBytes& token : given) {
        std::vector<TokenId> ids(token.bytes.size());
        const bool is_reached = merger.merge(token.bytes, ids.data()) == 1 && ids[0] == token.id;
        ASSERT_EQ(model.whole.find(token.bytes), is_reached ? token.id : -1) << token.bytes;
        ++(is_reached ? reached : others);
        long_ones += is_reached && token.bytes.size() > 32;
      }
    }
  }
  EXPECT_GT(reached, 1000u);
  EXPECT_GT(long_ones, 0u);
  EXPECT_GT(others, 100u);
}

TEST(Encoder, GivesTheSameWithWarmCaches) {
  std::mt19937 random(8);
  for (const std::size_t merges : {300, 2}) {  // few: words of many tokens
    const Vocabulary vocabulary = made_vocabulary(random, merges, "abcdef");
    const BpeModel model = model_of_merges(vocabulary.views(), vocabulary.merges, false);
    Encoder warm(model, cut_of(Pattern::kGpt2));
    for (int round = 0; round < 300; ++round) {
      std::string text;
      std::vector<TokenId> wanted;
      for (std::size_t words = random() % 40; words > 0; --words) {
        const std::string word = made_word(random, "abcdef", 1 + random() % 40);
        const std::vector<TokenId> ids = naive(vocabulary, word);
        text += word + "\n";
        wanted.insert(wanted.end(), ids.begin(), ids.end());
        wanted.push_back('\n');
      }
      ASSERT_EQ(encoded(warm, text), wanted);
      ASSERT_EQ(encoded(warm, text), wanted);
    }
  }
}

TEST(Encoder, RemembersMoreWordsWhereThereIsMemory) {
  constexpr int kLetters = 12, kWords = kLetters * kLetters * kLetters * kLetters * kLetters;
  const auto letter = [](int of) { return static_cast<char>('a' + of % kLetters); };
  Vocabulary vocabulary;
  for (int byte = 0; byte < 256; ++byte) vocabulary.tokens.emplace_back(1, static_cast<char>(byte));
  for (int pair = 0; pair < kLetters * kLetters; ++pair) {
    const char left = letter(pair), right = letter(pair / kLetters);
    vocabulary.merges.push_back({left, right, static_cast<TokenId>(vocabulary.tokens.size())});
    vocabulary.tokens.push_back({left, right});
  }
  const BpeModel model = model_of_merges(vocabulary.views(), vocabulary.merges, false);
  std::string text;
  for (int word = 0; word < kWords; ++word) {
    for (int rest = word, i = 0; i < 5; rest /= kLetters, ++i) text += letter(rest);
    text += '\n';
  }
  Encoder small(model, cut_of(Pattern::kGpt2), nullptr, false);
  const std::vector<TokenId> wanted = encoded(small, text);
  for (const std::size_t limit : {Encoder::kMemory, Encoder::kMemory + Encoder::kMoreMemory}) {
    MemoryLedger memory(limit);
    ASSERT_TRUE(memory.try_reserve(Encoder::kMemory));
    {
      Encoder encoder(model, cut_of(Pattern::kGpt2), &memory);
      EXPECT_EQ(encoded(encoder, text), wanted);
      EXPECT_EQ(memory.used(), limit);
      EXPECT_EQ(encoded(encoder, text), wanted);
    }
    EXPECT_EQ(memory.used(), 0u);
  }
}

TEST(Encoder, TakesWholeWordsOnlyWhereTheModelSaysSo) {
  Vocabulary vocabulary;
  for (int byte = 0; byte < 256; ++byte) vocabulary.tokens.emplace_back(1, static_cast<char>(byte));
  vocabulary.tokens.insert(vocabulary.tokens.end(), {"ab", "bc", "abc"});
  vocabulary.merges = {{'b', 'c', 257}, {'a', 'b', 256}, {256, 'c', 258}};  // b c comes first: abc is not reached
  const BpeModel by_merges = model_of_merges(vocabulary.views(), vocabulary.merges, false);
  const BpeModel whole = model_of_merges(vocabulary.views(), vocabulary.merges, true);
  const BpeModel ranks = model_of_ranks(vocabulary.views());
  Encoder first(by_merges, cut_of(Pattern::kGpt2));
  Encoder second(whole, cut_of(Pattern::kGpt2));
  Encoder third(ranks, cut_of(Pattern::kGpt2));
  EXPECT_EQ(encoded(first, "abc"), (std::vector<TokenId>{'a', 257}));
  EXPECT_EQ(encoded(second, "abc"), (std::vector<TokenId>{258}));
  EXPECT_EQ(encoded(second, "abcd"), (std::vector<TokenId>{'a', 257, 'd'}));
  EXPECT_EQ(encoded(third, "abcd"), (std::vector<TokenId>{258, 'd'}));  // any two neighbours that are a token together
}

TEST(Encoder, CutsPretokensOnlyWhereNoTokenReachesOver) {
  const std::vector<std::string> chars = {"\u4E2D", "\u6587", "\u5B57", "\u00E9", "\u0416", "a", "\U00020000"};
  std::string alphabet;
  for (const std::string& each : chars) alphabet += each;
  std::mt19937 random(9);
  for (int trial = 0; trial < 30; ++trial) {
    // Few merges leave most boundaries free; merges of any bytes make tokens that begin and end within characters.
    const Vocabulary vocabulary = made_vocabulary(random, 5 + random() % 120, alphabet);
    const BpeModel by_merges = model_of_merges(vocabulary.views(), vocabulary.merges, false);
    const BpeModel whole = model_of_merges(vocabulary.views(), vocabulary.merges, true);
    Encoder first(by_merges, cut_of(Pattern::kGpt2));
    Encoder second(whole, cut_of(Pattern::kGpt2));
    for (int round = 0; round < 150; ++round) {
      std::string word;
      for (std::size_t left = 1 + random() % (round % 10 == 0 ? 150 : 12); left > 0; --left) {
        word += chars[random() % chars.size()];
      }
      const std::vector<TokenId> ids = naive(vocabulary, word);
      ASSERT_EQ(encoded(first, word), ids) << word;
      const auto token = std::find(vocabulary.tokens.begin(), vocabulary.tokens.end(), word);
      const auto id = static_cast<TokenId>(token - vocabulary.tokens.begin());
      ASSERT_EQ(encoded(second, word), token != vocabulary.tokens.end() ? std::vector<TokenId>{id} : ids) << word;
    }
  }
}

TEST(Boundaries, AreCrossedByTokensThatReachOverThem) {
  const Boundaries boundaries({{"\u4E2D\u6587", 0}, {"\x87\u5B57", 1}, {"\u00E9\xE4", 2}, {"ab", 3}});
  const auto crossed = [&](std::string_view left, std::string_view right) {
    const auto whole = [](std::string_view character) {
      const auto* const p = reinterpret_cast<const std::uint8_t*>(character.data());
      return CharBytes::at(p, p + character.size());
    };
    return boundaries.crossed(whole(left), whole(right));
  };
  EXPECT_TRUE(crossed("\u4E2D", "\u6587"));
  EXPECT_FALSE(crossed("\u6587", "\u4E2D"));
  EXPECT_TRUE(crossed("\u6587", "\u5B57"));  // whose last byte is 87
  EXPECT_FALSE(crossed("\u4E2D", "\u5B57"));
  EXPECT_TRUE(crossed("\u00E9", "\u4E2D"));  // whose first byte is E4
  EXPECT_FALSE(crossed("\u00E9", "\u5B57"));
  EXPECT_TRUE(crossed("x", "y"));
}

TEST(Encoder, LeavesOutBytesWithoutAToken) {
  Vocabulary vocabulary;
  vocabulary.tokens = {"a", "b", "ab"};
  vocabulary.merges = {{0, 1, 2}};
  const BpeModel model = model_of_merges(vocabulary.views(), vocabulary.merges, false);
  Encoder encoder(model, cut_of(Pattern::kGpt2));
  EXPECT_EQ(encoded(encoder, "axb"), (std::vector<TokenId>{2}));
  EXPECT_TRUE(encoded(encoder, "xyz").empty());
}

TEST(Encoder, MergesMegabytesOfOneLetter) {
  Vocabulary vocabulary;
  for (int byte = 0; byte < 256; ++byte) vocabulary.tokens.emplace_back(1, static_cast<char>(byte));
  vocabulary.tokens.insert(vocabulary.tokens.end(), {"aa", "aaaa"});
  vocabulary.merges = {{'a', 'a', 256}, {256, 256, 257}};
  const BpeModel model = model_of_merges(vocabulary.views(), vocabulary.merges, false);
  Encoder encoder(model, cut_of(Pattern::kGpt2));
  const std::vector<TokenId> ids = encoded(encoder, std::string(4000003, 'a'));
  EXPECT_EQ(std::count(ids.begin(), ids.end(), 257), 1000000);
  EXPECT_EQ(ids.size(), 1000002u);
}

}  // namespace
}  // namespace drapps::text
