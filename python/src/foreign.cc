#include "foreign.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <cstddef>
#include <limits>
#include <string>
#include <utility>

#include "drapps/decode/rows.h"
#include "drapps/decode/types.h"
#include "shared.h"
#include "worker_call.h"

namespace nb = nanobind;

namespace drapps {
namespace {

Error unread(std::string words) { return decode_error(ErrorCode::kUnsupported, std::move(words)); }

Result<ImageView> to_planes(const ConstPixels& pixels, ImageBuffer& out) {
  constexpr std::size_t kMost = std::numeric_limits<std::int32_t>::max();
  if (pixels.shape(2) != 3 || pixels.size() == 0 || pixels.shape(0) > kMost || pixels.shape(1) > kMost) {
    return unread("pixels that are not (height, width, 3)");
  }
  const auto height = static_cast<std::int32_t>(pixels.shape(0)), width = static_cast<std::int32_t>(pixels.shape(1));
  Result<ImageView> view = out.reshape(3, height, width);
  if (!view.ok()) return view;
  for (std::int32_t y = 0; y < height; ++y) {
    store_rgb(*view, y, pixels.data() + std::size_t{3} * static_cast<std::size_t>(y) * static_cast<std::size_t>(width));
  }
  return view;
}

Result<ImageView> call(const nb::object& read, std::span<const std::uint8_t> bytes, ImageBuffer& out) {
  try {
    const nb::object result = read(nb::bytes(bytes.data(), bytes.size()));
    if (nb::isinstance<nb::str>(result)) return unread(nb::cast<std::string>(result));
    return to_planes(nb::cast<ConstPixels>(result), out);
  } catch (const std::exception& error) {
    return unread(error.what());
  }
}

class PythonReader final : public ForeignReader {
 public:
  explicit PythonReader(const nb::object& read) : read_(read) {}
  ~PythonReader() override {
    with_gil([this] { read_.reset(); });
    read_.release();
  }
  PythonReader(const PythonReader&) = delete;
  PythonReader& operator=(const PythonReader&) = delete;

  Result<ImageView> read(std::span<const std::uint8_t> bytes, ImageBuffer& out) const noexcept override {
    Result<ImageView> view = unread("Python is ending");
    if (const WorkerCall allowed; allowed) with_gil([&] { view = call(read_, bytes, out); });
    return view;
  }

 private:
  nb::object read_;
};

}  // namespace

std::shared_ptr<const ForeignReader> foreign_reader(const nb::object& read) {
  return std::make_shared<PythonReader>(read);
}

}  // namespace drapps
