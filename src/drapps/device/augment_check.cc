// Which ops the augment kernels can do.
#include <string>
#include <type_traits>
#include <variant>

#include "drapps/device/augment_list.h"

namespace drapps::device {
namespace {

Error no_kernel(const std::string& message) {
  return {.code = ErrorCode::kUnsupported, .stage = Stage::kAugment, .message = message};
}

bool resizes(const Op& op) {
  return std::visit(
      []<class T>(const T&) {
        return std::is_same_v<T, Resize> || std::is_same_v<T, RandomResize> || std::is_same_v<T, RandomResizedCrop> ||
               std::is_same_v<T, ResizeKeepRatio>;
      },
      op);
}

bool changes_colors(const Op& op) {
  return std::visit(
      []<class T>(const T&) {
        return std::is_same_v<T, ColorJitter> || std::is_same_v<T, Grayscale> || std::is_same_v<T, RandomGrayscale>;
      },
      op);
}

bool resizes_by_floats(const Op& op) {
  return std::visit(
      []<class T>(const T& one) {
        if constexpr (requires { one.arithmetic; }) return one.arithmetic == kernel::Arithmetic::kTorchFloat;
        return false;
      },
      op);
}

}  // namespace

Status check_on_device(std::span<const Op> ops) {
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const std::string where = "op " + std::to_string(i + 1) + " (" + std::string(tag_of(ops[i])) + ") ";
    if (resizes_by_floats(ops[i])) return no_kernel(where + "resizes by floats, which no kernel of a device does");
  }
  return ok_status();
}

bool keeps_pictures(std::span<const Op> ops) {
  bool changed = false;
  for (const Op& op : ops) {
    if (changed && resizes(op)) return true;
    changed = changed || resizes(op) || changes_colors(op);
  }
  return false;
}

}  // namespace drapps::device
