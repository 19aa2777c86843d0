#include "drapps/modality/modalities.h"

#include "drapps/base/registry.h"
#include "drapps/modality/packed_text.h"
#include "drapps/modality/picture.h"
#include "drapps/modality/token_rows.h"

namespace drapps {
namespace {

constexpr Registry<Modality>::Entry kPicture{{PicturePart::kModality, &PicturePart::parse}};
constexpr Registry<Modality>::Entry kPackedText{{PackedTextPart::kModality, &PackedTextPart::parse}, &kPicture};
constexpr Registry<Modality>::Entry kTokenRows{{TokenRowsPart::kModality, &TokenRowsPart::parse}, &kPackedText};
constinit Registry<Modality> known_modalities(kTokenRows);

}  // namespace

void register_modality(const Modality& modality) { known_modalities.add(modality); }

const Modality* find_modality(std::string_view name) noexcept { return known_modalities.find(name); }

}  // namespace drapps
