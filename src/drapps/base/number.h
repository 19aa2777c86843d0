// Numbers that something counts, described where they are declared: name, unit, who counts them and what they mean.
// Observations, traces, stats() and the tables of the documentation are made of these descriptions.
//
//   struct Doors {
//     std::uint64_t opened = 0;
//
//     static constexpr auto numbers() {
//       return std::tuple(
//           ListedNumber{&Doors::opened, {"opened", "times", "the porter", NumberKind::kCounter, "so far"}});
//     }
//   };
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace drapps {

enum class NumberKind : std::uint8_t {
  kCounter,  // only ever rises while who counts it lives
  kGauge,    // what stands so at the moment
};

struct NumberInfo {
  std::string_view name;    // within its struct
  std::string_view unit;    // "ns", "bytes", "samples", …
  std::string_view source;  // who counts it
  NumberKind kind = NumberKind::kGauge;
  std::string_view meaning;  // for people; may be empty
};

/// A member of a struct that lists its numbers in numbers(), in a fixed order.
template <class Struct, class Value>
struct ListedNumber {
  Value Struct::* at;
  NumberInfo info;
};

template <class Struct>
inline constexpr std::size_t kNumbers = std::tuple_size_v<decltype(std::remove_const_t<Struct>::numbers())>;

/// Calls visit(info, member of each struct…) for each number, in their order. Structs of several types list the same
/// numbers, as those do that one template makes.
template <class Visit, class First, class... Others>
constexpr void visit_numbers(const Visit& visit, First& first, Others&... others) {
  static_assert(((kNumbers<First> == kNumbers<Others>) && ...));
  const auto at = [&]<std::size_t kPlace>() {
    constexpr auto kListed = std::get<kPlace>(First::numbers());  // made by the compiler, at any level of optimisation
    visit(kListed.info, first.*kListed.at, others.*std::get<kPlace>(Others::numbers()).at...);
  };
  [&]<std::size_t... kPlaces>(std::index_sequence<kPlaces...>) {
    (at.template operator()<kPlaces>(), ...);
  }(std::make_index_sequence<kNumbers<First>>());
}

}  // namespace drapps
