// Any bytes, once repaired, are UTF-8 that is left as it is, and each normal form of them is in that form.
#include <cstdlib>
#include <string>
#include <string_view>

#include "drapps/text/unicode/normalize.h"
#include "drapps/text/unicode/utf8_repair.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using drapps::text::Form;
  std::string text(reinterpret_cast<const char*>(data), size);
  std::string out;
  if (drapps::text::repair_utf8(text, out)) text = out;
  if (drapps::text::repair_utf8(text, out)) std::abort();
  for (const Form form : {Form::kNfc, Form::kNfd, Form::kNfkc, Form::kNfkd}) {
    std::string normal;
    if (!drapps::text::normalize(form, text, normal)) continue;
    if (drapps::text::repair_utf8(normal, out) || drapps::text::normalize(form, normal, out)) std::abort();
  }
  return 0;
}
