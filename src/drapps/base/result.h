// A value or an Error. Success costs nothing but the discriminant; nothing here throws.
//
//   auto file = SharedFile::make("drapps-items");
//   if (!file.ok()) return std::move(file).error();
//   DRAPPS_RETURN_IF_ERROR(file->grow(bytes));  // a Status, or any other Result
#pragma once

#include <cassert>
#include <type_traits>
#include <utility>
#include <variant>

#include "drapps/base/error.h"

namespace drapps {

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return ok(); }

  /// The value. Requires ok().
  T& value() & noexcept { return assert(ok()), *std::get_if<0>(&state_); }
  const T& value() const& noexcept { return assert(ok()), *std::get_if<0>(&state_); }
  T&& value() && noexcept { return assert(ok()), std::move(*std::get_if<0>(&state_)); }
  T& operator*() & noexcept { return value(); }
  const T& operator*() const& noexcept { return value(); }
  T&& operator*() && noexcept { return std::move(*this).value(); }
  T* operator->() noexcept { return &value(); }
  const T* operator->() const noexcept { return &value(); }

  /// The error. Requires !ok().
  Error& error() & noexcept { return assert(!ok()), *std::get_if<1>(&state_); }
  const Error& error() const& noexcept { return assert(!ok()), *std::get_if<1>(&state_); }
  Error&& error() && noexcept { return assert(!ok()), std::move(*std::get_if<1>(&state_)); }

 private:
  std::variant<T, Error> state_;
};

/// The result of something that only succeeds or fails.
using Status = Result<std::monostate>;

inline Status ok_status() { return std::monostate{}; }

}  // namespace drapps

/// Returns the error of `expression` (a Result) from the enclosing function, if it has one.
#define DRAPPS_RETURN_IF_ERROR(expression)                                                                  \
  do {                                                                                                      \
    if (auto drapps_status_ = (expression); !drapps_status_.ok()) return std::move(drapps_status_).error(); \
  } while (false)
