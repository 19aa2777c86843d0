// A number that is added: all that it takes stands in this one struct, a member and its line in the list.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <tuple>

#include "drapps/plant/fields.h"

namespace drapps {
namespace {

template <class Count, class Distribution>
struct DoorNumbers {
  Count opened{0};
  Distribution open;

  static constexpr auto numbers() {
    using Self = DoorNumbers;
    return std::tuple(
        ListedNumber{&Self::opened, {"opened", "times", "the porter", NumberKind::kCounter, "that somebody came in"}},
        ListedNumber{&Self::open, {"open", "ns", "the porter", NumberKind::kGauge, "that it stood open"}});
  }
};

using DoorObservation = DoorNumbers<std::uint64_t, Spread>;
using DoorCounts = DoorNumbers<std::uint64_t, HistogramCounts>;

TEST(NewNumber, IsAFieldOfAnObservationWithWhatItsListSays) {
  DoorObservation seen{.opened = 3, .open = {.count = 3, .sum = 9}};
  std::set<std::string> names;
  detail::visit_group("doors", seen, [&](const FieldName& name, const FieldInfo& info, const auto& value) {
    EXPECT_EQ(name.group, "doors");
    EXPECT_EQ(info.number.source, "the porter");
    names.insert(std::string(name.of) + std::string(name.part));
    if (name.of == "opened") {
      EXPECT_EQ(value, 3u);
      EXPECT_EQ(info.number.unit, "times");
      EXPECT_EQ(info.number.meaning, "that somebody came in");
      EXPECT_EQ(info.number.kind, NumberKind::kCounter);
    }
    if (name.of == "open") {
      const bool is_counter = name.part == "count" || name.part == "sum";
      EXPECT_EQ(info.number.kind, is_counter ? NumberKind::kCounter : NumberKind::kGauge);
    }
  });
  EXPECT_EQ(names,
            (std::set<std::string>{"opened", "opencount", "opensum", "openp50", "openp90", "openp99", "openmost"}));
  EXPECT_EQ(detail::fields_of<DoorObservation>(), names.size());
}

TEST(NewNumber, StructsOfOneTemplateAreVisitedTogether) {
  const DoorCounts counts{.opened = 5, .open = {}};
  DoorObservation seen;
  visit_numbers(
      []<class Value>(const NumberInfo&, auto& to, const Value& value) {
        if constexpr (!std::is_same_v<Value, HistogramCounts>) to = value;
      },
      seen, counts);
  EXPECT_EQ(seen.opened, 5u);
}

}  // namespace
}  // namespace drapps
