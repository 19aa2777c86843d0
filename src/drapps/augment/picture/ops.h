// All ops, as one closed type, and what a caller does with any of them.
//
//   auto spec = infer(op, in);  // what comes out of pictures like `in`
//   OpContext ctx{.draws = draws, .scratch = scratch};
//   DRAPPS_RETURN_IF_ERROR(run(op, picture, ctx));
#pragma once

#include <string_view>
#include <variant>

#include "drapps/augment/picture/center_crop.h"
#include "drapps/augment/picture/color_jitter.h"
#include "drapps/augment/picture/crop.h"
#include "drapps/augment/picture/flip.h"
#include "drapps/augment/picture/grayscale.h"
#include "drapps/augment/picture/pad.h"
#include "drapps/augment/picture/random_apply.h"
#include "drapps/augment/picture/random_crop.h"
#include "drapps/augment/picture/random_erasing.h"
#include "drapps/augment/picture/random_resize.h"
#include "drapps/augment/picture/random_resized_crop.h"
#include "drapps/augment/picture/resize.h"
#include "drapps/augment/picture/resize_keep_ratio.h"

namespace drapps {

using Op =
    std::variant<RandomResizedCrop, Resize, Crop, CenterCrop, RandomCrop, HorizontalFlip, VerticalFlip, ColorJitter,
                 Grayscale, RandomGrayscale, Pad, RandomErasing, RandomResize, RandomApply, ResizeKeepRatio>;

std::string_view tag_of(const Op& op) noexcept;
int version_of(const Op& op) noexcept;
Status check(const Op& op);
Result<PictureSpec> infer(const Op& op, const PictureSpec& in);
/// Whether what the op makes of a picture depends on what it is handed to draw with.
bool draws(const Op& op);
Status run(const Op& op, Picture& picture, OpContext& ctx);
/// What run() reads of a picture of `whole`, not empty, with the same draws; all of it for an op without region().
Rect region(const Op& op, Extent whole, const Draws& draws);

}  // namespace drapps
