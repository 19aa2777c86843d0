#include "drapps/text/unicode/normalize.h"

#include <gtest/gtest.h>

#include <string>

namespace drapps::text {
namespace {

std::string in_form(Form form, std::string_view text) {
  std::string out;
  return normalize(form, text, out) ? out : std::string(text);
}

TEST(Normalize, KnowsTheFourForms) {
  const std::string text = "e\u0301 \u00E9 \u212B \uFB01 \u1100\u1161\u11A8 \uAC01 \u0958 a\u0327\u0301";
  EXPECT_EQ(in_form(Form::kNfc, text), "\u00E9 \u00E9 \u00C5 \uFB01 \uAC01 \uAC01 \u0915\u093C \u00E1\u0327");
  EXPECT_EQ(in_form(Form::kNfd, text),
            "e\u0301 e\u0301 A\u030A \uFB01 \u1100\u1161\u11A8 \u1100\u1161\u11A8 \u0915\u093C a\u0327\u0301");
  EXPECT_EQ(in_form(Form::kNfkc, text), "\u00E9 \u00E9 \u00C5 fi \uAC01 \uAC01 \u0915\u093C \u00E1\u0327");
  EXPECT_EQ(in_form(Form::kNfkd, "\uFB01\u00B2\u1E9B\u0323"), "fi2s\u0323\u0307");
}

TEST(Normalize, OrdersMarksAndHoldsThemApart) {
  EXPECT_EQ(in_form(Form::kNfd, "a\u0301\u0327"), "a\u0327\u0301");
  EXPECT_EQ(in_form(Form::kNfc, "a\u0305\u0301"), "a\u0305\u0301");  // both above: the first is in the way
  EXPECT_EQ(in_form(Form::kNfc, "\u0301a"), "\u0301a");
  EXPECT_EQ(in_form(Form::kNfc, "\uAC00\u11A7"), "\uAC00\u11A7");  // no final
}

TEST(Normalize, SaysWhatIsInTheFormAlready) {
  std::string out;
  for (const Form form : {Form::kNfc, Form::kNfd, Form::kNfkc, Form::kNfkd}) {
    EXPECT_FALSE(normalize(form, "", out));
    EXPECT_FALSE(normalize(form, "plain ASCII, of more than eight bytes", out));
    EXPECT_FALSE(normalize(form, "\u4E2D\u6587 \u0416 \U0001F600", out));
    EXPECT_FALSE(normalize(form, "x\u0334\u0301", out));  // looked at, and left as it is
  }
  EXPECT_FALSE(normalize(Form::kNfc, "caf\u00E9 \uAC01", out));
  EXPECT_TRUE(normalize(Form::kNfd, "caf\u00E9", out));
}

TEST(Normalize, TakesTextOfMarksAlone) {
  std::string marks, ordered;
  for (int i = 0; i < 100'000; ++i) marks += i % 2 != 0 ? "\u0316" : "\u0301";
  for (int i = 0; i < 100'000; ++i) ordered += i < 50'000 ? "\u0316" : "\u0301";
  EXPECT_EQ(in_form(Form::kNfd, marks), ordered);
  EXPECT_EQ(in_form(Form::kNfc, "a" + marks), "\u00E1" + ordered.substr(0, ordered.size() - 2));
}

}  // namespace
}  // namespace drapps::text
