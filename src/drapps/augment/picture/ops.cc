#include "drapps/augment/picture/ops.h"

#include <type_traits>

namespace drapps {
namespace {

template <class T>
concept ReadsRegion = requires(const T& op, Extent whole, Draws draws) { op.region(whole, draws); };
template <class T>
concept SaysWhetherItDraws = requires(const T& op) { op.draws(); };

}  // namespace

// An op always holds one of its alternatives: what std::visit throws otherwise cannot happen.
std::string_view tag_of(const Op& op) noexcept {  // NOLINT(bugprone-exception-escape)
  return std::visit([]<class T>(const T&) { return T::kTag; }, op);
}

int version_of(const Op& op) noexcept {  // NOLINT(bugprone-exception-escape)
  return std::visit([]<class T>(const T&) { return T::kVersion; }, op);
}

Status check(const Op& op) {
  return std::visit([](const auto& one) { return one.check(); }, op);
}

Result<PictureSpec> infer(const Op& op, const PictureSpec& in) {
  return std::visit([&](const auto& one) { return one.infer(in); }, op);
}

bool draws(const Op& op) {
  return std::visit(
      []<class T>(const T& one) {
        if constexpr (SaysWhetherItDraws<T>) return one.draws();
        return true;
      },
      op);
}

Status run(const Op& op, Picture& picture, OpContext& ctx) {
  return std::visit([&](const auto& one) { return one.run(picture, ctx); }, op);
}

Rect region(const Op& op, Extent whole, const Draws& draws) {
  return std::visit(
      [&]<class T>(const T& one) {
        if constexpr (ReadsRegion<T>) {
          return one.region(whole, draws);
        } else {
          return geometry::whole_rect(whole);
        }
      },
      op);
}

}  // namespace drapps
