// DLPack: how a tensor's memory crosses to another library without a copy.
//
// The structures are those of https://github.com/dmlc/dlpack (dlpack.h, versions 0.8 and 1.0); the layout is a
// fixed binary interface. An exported tensor keeps its slot held until the importer calls the deleter, which may
// happen on any thread, without the GIL, after this library's other objects are gone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "drapps/data/dtype.h"
#include "drapps/deliver/slot_arena.h"

namespace drapps {

struct DlDevice {
  std::int32_t device_type;  // 1: CPU, 2: CUDA, 3: page-locked for CUDA
  std::int32_t device_id;
  bool operator==(const DlDevice&) const = default;
};

struct DlDataType {
  std::uint8_t code;  // 0: int, 1: uint, 2: float, 4: bfloat, 6: bool
  std::uint8_t bits;
  std::uint16_t lanes;
};

struct DlTensor {
  void* data;
  DlDevice device;
  std::int32_t ndim;
  DlDataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements
  std::uint64_t byte_offset;
};

/// What a capsule named "dltensor" holds.
struct DlManagedTensor {
  DlTensor tensor;
  void* manager_context;
  void (*deleter)(DlManagedTensor* self);
};

/// What a capsule named "dltensor_versioned" holds.
struct DlManagedTensorVersioned {
  std::uint32_t major;
  std::uint32_t minor;
  void* manager_context;
  void (*deleter)(DlManagedTensorVersioned* self);
  std::uint64_t flags;  // 0: writable, not a copy
  DlTensor tensor;
};

DlDevice device_of(MemoryKind kind) noexcept;

/// What is exported.
struct DlView {
  const HeldSlot& slot;
  std::byte* data;
  Dtype dtype;
  std::span<const std::int64_t> shape;
  std::unique_ptr<device::Stream> user = {};  // on a device: the stream whose uses of the slot end with the view
};

/// In the form asked for. The caller owns what is returned and ends it by its deleter.
DlManagedTensor* export_dlpack(DlView view);
DlManagedTensorVersioned* export_dlpack_versioned(DlView view);

}  // namespace drapps
