#include "drapps/deliver/dlpack.h"

#include <utility>
#include <vector>

namespace drapps {
namespace {

DlDataType dl_type(Dtype dtype) {
  const auto bits = static_cast<std::uint8_t>(size_of(dtype) * 8);
  switch (dtype) {
    case Dtype::kUint8:
    case Dtype::kUint16:
    case Dtype::kUint32:
    case Dtype::kUint64: return {1, bits, 1};
    case Dtype::kInt8:
    case Dtype::kInt16:
    case Dtype::kInt32:
    case Dtype::kInt64: return {0, bits, 1};
    case Dtype::kFloat16:
    case Dtype::kFloat32:
    case Dtype::kFloat64: return {2, bits, 1};
    case Dtype::kBfloat16: return {4, bits, 1};
    case Dtype::kBool: return {6, bits, 1};
  }
  return {1, 8, 1};
}

constexpr std::int32_t device_type_of(MemoryKind::Place place) noexcept {
  switch (place) {
    case MemoryKind::Place::kHost: return 1;
    case MemoryKind::Place::kPinnedHost: return 3;
    case MemoryKind::Place::kDevice: return 2;
  }
  return 1;
}

/// The exported structure, what it points to, and what keeps the memory alive, freed together.
template <class Managed>
struct Export {
  Managed managed{};
  HeldSlot slot;
  std::unique_ptr<device::Stream> user;
  std::vector<std::int64_t> extents;  // shape, then strides

  ~Export() {
    if (user != nullptr) slot.end_use(*user);
  }
};

template <class Managed>
Managed* make(DlView view) {
  auto* exported = new Export<Managed>{
      .slot = view.slot, .user = std::move(view.user), .extents = {view.shape.begin(), view.shape.end()}};
  const std::size_t rank = view.shape.size();
  exported->extents.resize(2 * rank);
  std::int64_t stride = 1;
  for (std::size_t i = rank; i-- > 0;) {
    exported->extents[rank + i] = stride;
    stride *= view.shape[i];
  }
  exported->managed.tensor = {.data = view.data,
                              .device = device_of(view.slot.kind()),
                              .ndim = static_cast<std::int32_t>(rank),
                              .dtype = dl_type(view.dtype),
                              .shape = exported->extents.data(),
                              .strides = exported->extents.data() + rank,
                              .byte_offset = 0};
  exported->managed.manager_context = exported;
  exported->managed.deleter = [](Managed* self) { delete static_cast<Export<Managed>*>(self->manager_context); };
  return &exported->managed;
}

}  // namespace

DlDevice device_of(MemoryKind kind) noexcept { return {device_type_of(kind.place), kind.device}; }

DlManagedTensor* export_dlpack(DlView view) { return make<DlManagedTensor>(std::move(view)); }

DlManagedTensorVersioned* export_dlpack_versioned(DlView view) {
  auto* managed = make<DlManagedTensorVersioned>(std::move(view));
  managed->major = 1;
  managed->minor = 0;
  managed->flags = 0;
  return managed;
}

}  // namespace drapps
