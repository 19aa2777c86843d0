#include "drapps/text/bpe/shared_words.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "drapps/text/bpe/build_model.h"
#include "drapps/text/bpe/encoder.h"

namespace drapps::text {
namespace {

WordKey key_of(const std::string& word) {
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(word.data());
  return WordKey::of(bytes, word.size(), bytes + word.size());
}

std::vector<TokenId> found_in(const SharedWords& words, const std::string& word) {
  std::array<TokenId, WordEntry::kMaxIds> ids;
  const std::size_t size = words.find(key_of(word), ids.data());
  return {ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(size)};
}

TEST(SharedWords, HaveATableFromTheSecondEncoderOnWhereThereIsMemory) {
  const std::vector<TokenId> ids{7, 0, 9};
  for (const std::size_t limit : {SharedWords::kMemory, SharedWords::kMemory - 1}) {
    MemoryLedger memory(limit);
    {
      SharedWords words(&memory);
      words.join();
      words.insert(key_of("word"), ids.data(), ids.size());
      EXPECT_TRUE(found_in(words, "word").empty());
      EXPECT_EQ(memory.used(), 0u);
      words.join();
      words.insert(key_of("word"), ids.data(), ids.size());
      const bool room = limit == SharedWords::kMemory;
      EXPECT_EQ(found_in(words, "word"), room ? ids : std::vector<TokenId>{});
      EXPECT_TRUE(found_in(words, "wor").empty());
      EXPECT_EQ(memory.used(), room ? limit : 0);
    }
    EXPECT_EQ(memory.used(), 0u);
  }
}

TEST(SharedWords, GiveWhatWasAddedToThreadsThatAddAndLookUp) {
  constexpr TokenId kWords = 60'000;
  const auto ids_of = [](TokenId word) {
    return std::vector<TokenId>(1 + static_cast<std::size_t>(word) % WordEntry::kMaxIds, word);
  };
  SharedWords words;
  words.join();
  words.join();
  std::array<std::size_t, 4> missing{};
  std::vector<std::jthread> threads;
  for (std::size_t thread = 0; thread < missing.size(); ++thread) {
    threads.emplace_back([&, thread] {
      for (TokenId i = 0; i < kWords; ++i) {
        const TokenId word = thread % 2 == 0 ? i : kWords - 1 - i;
        const std::string text = "w" + std::to_string(word);
        const std::vector<TokenId> ids = ids_of(word);
        if (const auto before = found_in(words, text); !before.empty()) {
          EXPECT_EQ(before, ids);
        }
        words.insert(key_of(text), ids.data(), ids.size());
        const auto looked_up = found_in(words, text);
        missing[thread] += looked_up.empty();
        if (!looked_up.empty()) {
          EXPECT_EQ(looked_up, ids);
        }
      }
    });
  }
  threads.clear();
  std::size_t kept = 0;
  for (TokenId word = 0; word < kWords; ++word) kept += found_in(words, "w" + std::to_string(word)) == ids_of(word);
  EXPECT_GT(kept, kWords * std::size_t{9} / 10);
  EXPECT_LT(std::ranges::max(missing), kWords / std::size_t{5});
}

/// Pairs of the letters a to d, and pairs of these.
BpeModel model_of_pairs() {
  std::vector<std::string> tokens;
  std::vector<MergeRule> merges;
  for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(1, static_cast<char>(byte));
  const auto add = [&](TokenId left, TokenId right) {
    merges.push_back({left, right, static_cast<TokenId>(tokens.size())});
    tokens.push_back(tokens[static_cast<std::size_t>(left)] + tokens[static_cast<std::size_t>(right)]);
  };
  for (TokenId left = 'a'; left <= 'd'; ++left) {
    for (TokenId right = 'a'; right <= 'd'; ++right) add(left, right);
  }
  for (TokenId pair = 256; pair < 260; ++pair) add(pair, pair);
  std::vector<TokenBytes> views;
  for (std::size_t id = 0; id < tokens.size(); ++id) views.push_back({tokens[id], static_cast<TokenId>(id)});
  return model_of_merges(views, merges, false);
}

std::vector<TokenId> encoded_by(Encoder& encoder, const std::string& text) {
  IdBuffer ids;
  encoder.encode(text, ids);
  return {ids.data(), ids.data() + ids.size()};
}

TEST(SharedWords, AreWhatEncodersHaveMergedAndLookUp) {
  const BpeModel model = model_of_pairs();
  // ASCII, with a part that is merged by itself, and a word that no other bytes share.
  for (const std::string& word : std::vector<std::string>{"abcdabc", "dcb\xC3\xA9", "\xC3\xA9\xC3\xA9"}) {
    const auto words = std::make_shared<SharedWords>();
    Encoder first(model, cut_of(Pattern::kGpt2), nullptr, true, words);
    Encoder second(model, cut_of(Pattern::kGpt2), nullptr, true, words);
    const std::vector<TokenId> ids = encoded_by(first, word);
    EXPECT_EQ(found_in(*words, word), ids) << word;
    EXPECT_EQ(encoded_by(second, word), ids) << word;

    // What stands there is what an encoder gives: these are other ids than those of merging.
    const auto others = std::make_shared<SharedWords>();
    Encoder third(model, cut_of(Pattern::kGpt2), nullptr, true, others);
    Encoder fourth(model, cut_of(Pattern::kGpt2), nullptr, true, others);
    const std::vector<TokenId> wrong{1, 2};
    others->insert(key_of(word), wrong.data(), wrong.size());
    EXPECT_EQ(encoded_by(third, word), wrong) << word;
    EXPECT_EQ(encoded_by(fourth, word + "\n" + word), (std::vector<TokenId>{1, 2, '\n', 1, 2})) << word;
  }
}

TEST(SharedWords, ChangeNoIdsOfEncodersInThreads) {
  const BpeModel model = model_of_pairs();
  constexpr std::uint32_t kWords = 40'000;
  const auto word = [](std::uint32_t number) {
    std::string letters;
    for (std::uint32_t rest = number * 2654435761u; letters.size() < 5 + number % 9; rest = rest * 5 + 1) {
      letters += static_cast<char>('a' + (rest >> 16) % 4);
    }
    return number % 5 == 0 ? letters + "\xC3\xA9" + "ab" : letters;
  };
  std::vector<std::string> texts(3);
  for (std::uint32_t i = 0; i < kWords; ++i) {
    texts[0] += word(i) + "\n";
    texts[1] += word(kWords - 1 - i) + " ";
    texts[2] += " " + word(i);
  }
  const auto words = std::make_shared<SharedWords>();
  std::vector<std::jthread> threads;
  for (const std::string& text : texts) {
    threads.emplace_back([&] {
      Encoder alone(model, cut_of(Pattern::kGpt2));
      Encoder sharing(model, cut_of(Pattern::kGpt2), nullptr, true, words);
      EXPECT_EQ(encoded_by(sharing, text), encoded_by(alone, text));
    });
  }
}

}  // namespace
}  // namespace drapps::text
