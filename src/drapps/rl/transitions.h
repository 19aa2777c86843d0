// Steps as pairs of states, which may be learnt from in any order and more than once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace drapps::rl {

/// Rows of all arrays belong together.
template <class T>
struct Transitions {
  std::size_t rows = 0;
  std::vector<T> inputs{};            // [rows, inputs]
  std::vector<std::uint8_t> masks{};  // [rows, outputs]
  std::vector<T> actions{};           // [rows, values]
  std::vector<T> rewards{};
  std::vector<T> next_inputs{};            // [rows, inputs]
  std::vector<std::uint8_t> next_masks{};  // [rows, outputs]
  std::vector<std::uint8_t> ended{};       // nothing comes after the step

  void resize(std::size_t count, std::size_t inputs_of, std::size_t outputs, std::size_t values) {
    rows = count;
    inputs.resize(count * inputs_of);
    masks.resize(count * outputs);
    actions.resize(count * values);
    rewards.resize(count);
    next_inputs.resize(count * inputs_of);
    next_masks.resize(count * outputs);
    ended.resize(count);
  }

  /// Calls visit(array, numbers of a row) for each array.
  template <class Visit>
  void each_array(std::size_t inputs_of, std::size_t outputs, std::size_t values, const Visit& visit) {
    visit(inputs, inputs_of);
    visit(masks, outputs);
    visit(actions, values);
    visit(rewards, std::size_t{1});
    visit(next_inputs, inputs_of);
    visit(next_masks, outputs);
    visit(ended, std::size_t{1});
  }
};

/// The rows of `all` at `places`, in that order.
template <class T>
void gather(const Transitions<T>& all, std::span<const std::uint32_t> places, Transitions<T>& into) {
  const std::size_t rows = all.rows == 0 ? 1 : all.rows;
  const auto copy = [&](const auto& from, auto& to) {
    const std::size_t width = from.size() / rows;
    to.resize(places.size() * width);
    for (std::size_t i = 0; i < places.size(); ++i) {
      std::copy_n(from.data() + places[i] * width, width, to.data() + i * width);
    }
  };
  into.rows = places.size();
  copy(all.inputs, into.inputs);
  copy(all.masks, into.masks);
  copy(all.actions, into.actions);
  copy(all.rewards, into.rewards);
  copy(all.next_inputs, into.next_inputs);
  copy(all.next_masks, into.next_masks);
  copy(all.ended, into.ended);
}

}  // namespace drapps::rl
