// Visitors that read and write the fields of a description as JSON.
//
//   JsonReader reader(object, "mix");
//   mix.fields(reader);
//   DRAPPS_RETURN_IF_ERROR(reader.status());
//   JsonWriter writer; mix.fields(writer); nlohmann::json json = std::move(writer).take();
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "drapps/augment/picture/fields.h"
#include "drapps/base/result.h"

namespace drapps {

/// Writes each visited field into one object.
class JsonWriter {
 public:
  template <class T>
  void operator()(const char* name, const T& member) {
    if constexpr (NamedEnum<T>) {
      object_[name] = std::string(name_of(member));
    } else {
      object_[name] = member;
    }
  }
  nlohmann::json take() && { return std::move(object_); }

 private:
  nlohmann::json object_ = nlohmann::json::object();
};

/// Reads each visited field from one object. A field that is absent keeps its default; a field of the wrong
/// type, and one that nobody visits, make status() an error that names it.
class JsonReader {
 public:
  /// @param where names the object in messages.
  JsonReader(const nlohmann::json& object, std::string where) : object_(object), where_(std::move(where)) {
    if (!object_.is_object()) fail("is not an object");
  }

  template <class T>
  void operator()(const char* name, T& member) {
    seen_.emplace_back(name);
    if (!status_.ok()) return;
    const auto field = object_.find(name);
    if (field == object_.end()) return;
    if constexpr (NamedEnum<T>) {
      if (field->is_string() && parse(field->template get<std::string>(), member)) return;
      std::string names;
      for (const auto each : EnumNames<T>::kNames) names.append(names.empty() ? "" : ", ").append(each);
      fail("." + std::string(name) + " must be one of " + names);
    } else {
      const bool fits = read(*field, member);
      if (!fits) fail("." + std::string(name) + " has the wrong type or is out of range: " + field->dump());
    }
  }

  /// Call last: the first thing that was wrong.
  Status status() {
    for (const auto& item : object_.items()) {
      if (status_.ok() && std::find(seen_.begin(), seen_.end(), item.key()) == seen_.end()) {
        fail(" has no field named \"" + item.key() + "\"");
      }
    }
    return status_;
  }

 private:
  void fail(const std::string& what) {
    if (status_.ok()) status_ = Error{.code = ErrorCode::kInvalidArgument, .message = where_ + what};
  }

  static bool read(const nlohmann::json& value, bool& member) {
    if (value.is_boolean()) member = value.get<bool>();
    return value.is_boolean();
  }
  template <std::integral T>
  static bool read(const nlohmann::json& value, T& member) {
    if (!value.is_number_integer()) return false;
    const bool fits = value.is_number_unsigned() ? std::in_range<T>(value.get<std::uint64_t>())
                                                 : std::in_range<T>(value.get<std::int64_t>());
    if (fits)
      member = value.is_number_unsigned() ? static_cast<T>(value.get<std::uint64_t>())
                                          : static_cast<T>(value.get<std::int64_t>());
    return fits;
  }
  template <std::floating_point T>
  static bool read(const nlohmann::json& value, T& member) {
    if (value.is_number()) member = static_cast<T>(value.get<double>());
    return value.is_number();
  }
  template <class T, std::size_t N>
  static bool read(const nlohmann::json& value, std::array<T, N>& member) {
    if (!value.is_array() || value.size() != N) return false;
    for (std::size_t i = 0; i < N; ++i) {
      if (!read(value[i], member[i])) return false;
    }
    return true;
  }
  template <class T>
  static bool read(const nlohmann::json& value, std::vector<T>& member) {
    if (!value.is_array()) return false;
    member.resize(value.size());
    for (std::size_t i = 0; i < member.size(); ++i) {
      if (!read(value[i], member[i])) return false;
    }
    return true;
  }

  const nlohmann::json& object_;
  std::string where_;
  std::vector<std::string> seen_;
  Status status_ = ok_status();
};

}  // namespace drapps
