#include "drapps/augment/ops.h"

namespace drapps {
namespace {

template <class T>
concept ReadsRegion = requires(const T& op, Extent whole, Draws draws) { op.region(whole, draws); };

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

Result<SampleSpec> infer(const Op& op, const SampleSpec& in) {
  return std::visit([&](const auto& one) { return one.infer(in); }, op);
}

Status run(const Op& op, Sample& sample, OpContext& ctx) {
  return std::visit([&](const auto& one) { return one.run(sample, ctx); }, op);
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
