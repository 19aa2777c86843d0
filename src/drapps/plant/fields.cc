#include "drapps/plant/fields.h"

#include "drapps/base/never_destroyed.h"

namespace drapps {
namespace {

std::string joined(const FieldName& name) {
  std::string text;
  for (const std::string_view part : {name.group, name.of, name.part}) {
    if (part.empty()) continue;
    if (!text.empty()) text.push_back('.');
    text.append(part);
  }
  return text;
}

template <class T>
std::uint64_t word_of(const T& value) noexcept {
  if constexpr (std::is_same_v<T, double>) {
    return std::bit_cast<std::uint64_t>(value);
  } else {
    return static_cast<std::uint64_t>(value);
  }
}

template <class T>
T value_of(std::uint64_t word) noexcept {
  if constexpr (std::is_same_v<T, double>) {
    return std::bit_cast<double>(word);
  } else if constexpr (std::is_same_v<T, bool>) {
    return word != 0;
  } else if constexpr (std::is_same_v<T, Turn>) {
    return word <= static_cast<std::uint64_t>(Turn::kTaken) ? static_cast<Turn>(word) : Turn::kOpen;
  } else {
    return static_cast<T>(word);
  }
}

}  // namespace

const std::vector<FieldDescription>& observation_fields() {
  static const NeverDestroyed<const std::vector<FieldDescription>> fields([] {
    std::vector<FieldDescription> descriptions;
    descriptions.reserve(kObservationFields);
    const Observation any;
    visit_fields(any, [&]<class T>(const FieldName& name, const FieldInfo& info, const T&) {
      descriptions.push_back({joined(name), info, std::is_same_v<T, double>});
    });
    return descriptions;
  }());
  return *fields;
}

ObservationWords words_of(const Observation& seen) noexcept {
  ObservationWords words;
  std::size_t at = 0;
  visit_fields(seen, [&](const FieldName&, const FieldInfo&, const auto& value) { words[at++] = word_of(value); });
  return words;
}

Observation observation_of(const ObservationWords& words) noexcept {
  Observation seen;
  std::size_t at = 0;
  visit_fields(seen, [&]<class T>(const FieldName&, const FieldInfo&, T& value) { value = value_of<T>(words[at++]); });
  return seen;
}

}  // namespace drapps
