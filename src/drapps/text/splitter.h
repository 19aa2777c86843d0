// Finding added tokens in text: whole strings that are cut out before any pattern is asked.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace drapps::text {

/// A set of strings, looked for from left to right; where several begin at one place, the longest is found. Immutable
/// once made; shared by all threads.
class Splitter {
 public:
  struct StringMatch {
    std::size_t begin;
    std::size_t end;
    std::uint32_t string;  // its index
  };

  /// Requires strings that are not empty. Of equal ones the first is found.
  explicit Splitter(const std::vector<std::string_view>& strings = {});

  bool empty() const noexcept { return nodes_.size() == 1; }

  /// The first string at or behind `from`, or nothing. Of the strings that have false in `wanted`, nothing is seen;
  /// null wants all.
  std::optional<StringMatch> find(std::string_view text, std::size_t from,
                                  const std::vector<bool>* wanted) const noexcept;

 private:
  static constexpr std::uint32_t kNothing = ~std::uint32_t{0};
  /// A prefix of some strings: a node of a tree, whose children are a list.
  struct Node {
    std::uint8_t byte = 0;
    std::uint32_t child = kNothing;
    std::uint32_t sibling = kNothing;
    std::uint32_t string = kNothing;  // that ends here
  };

  std::uint32_t child_of(std::uint32_t node, std::uint8_t byte) const noexcept;

  std::vector<Node> nodes_;
  std::array<std::uint32_t, 256> first_;  // node of each first byte
  int only_first_ = -1;                   // the first byte of all strings, where they share it
};

}  // namespace drapps::text
