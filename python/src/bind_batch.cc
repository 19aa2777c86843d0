// Batches and their columns, as arrays of other libraries: drapps._core.{Batch, Tensor}.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "drapps/deliver/dlpack.h"
#include "drapps/pipeline/runner.h"
#include "shared.h"

namespace nb = nanobind;

namespace drapps {
namespace {

using nb::literals::operator""_a;

/// One column of a held batch.
struct Tensor {
  HeldSlot slot;
  std::byte* data;
  Dtype dtype;
  std::vector<std::int64_t> shape;
};

/// What the two capsules of DLPack are called while they own their tensor; an importer renames them.
template <class Managed>
constexpr const char* kCapsule = std::is_same_v<Managed, DlManagedTensor> ? "dltensor" : "dltensor_versioned";

template <class Managed>
nb::object capsule(Managed* managed) {
  PyObject* object = PyCapsule_New(managed, kCapsule<Managed>, [](PyObject* self) {
    if (PyCapsule_IsValid(self, kCapsule<Managed>) == 0) return;
    auto* unused = static_cast<Managed*>(PyCapsule_GetPointer(self, kCapsule<Managed>));
    unused->deleter(unused);
  });
  if (object == nullptr) {
    managed->deleter(managed);
    throw nb::python_error();
  }
  return nb::steal(object);
}

const char* name_of(MemoryKind kind) {
  switch (kind.place) {
    case MemoryKind::Place::kHost: return "CPU memory";
    case MemoryKind::Place::kPinnedHost: return "page-locked CPU memory";
    case MemoryKind::Place::kDevice: return "a CUDA device's memory";
  }
  return "memory";
}

// What DLPack says of streams of CUDA: the legacy default one where none is named, and -1 for no wait.
constexpr std::int64_t kLegacyStream = 1;
constexpr std::int64_t kNoWait = -1;

/// The user's stream waits for a batch on a GPU, and uses it until the export ends; null for a batch elsewhere.
std::unique_ptr<device::Stream> handed_over(const Tensor& tensor, std::optional<std::int64_t> stream) {
  if (tensor.slot.kind().place != MemoryKind::Place::kDevice || !tensor.slot.of_device()) return nullptr;
  if (stream && (*stream == 0 || *stream < kNoWait)) {
    throw nb::buffer_error("stream= is no stream of CUDA: 1 is the default one");
  }
  const bool waits = stream != kNoWait;
  auto user =
      tensor.slot.hand_over(static_cast<std::uintptr_t>(waits ? stream.value_or(kLegacyStream) : kLegacyStream), waits);
  if (!user.ok()) {
    const nb::object type = nb::module_::import_("drapps.errors").attr("SampleError");
    PyErr_SetObject(type.ptr(), error_args(user.error()).ptr());
    throw nb::python_error();
  }
  return *std::move(user);
}

nb::object dlpack(const Tensor& tensor, std::optional<std::int64_t> stream,
                  const std::optional<nb::typed<nb::tuple, int, int>>& max_version,
                  const std::optional<nb::typed<nb::tuple, int, int>>& dl_device, std::optional<bool> copy) {
  const DlDevice here = device_of(tensor.slot.kind());
  if (dl_device && nb::cast<int>((*dl_device)[0]) != here.device_type) {
    const std::string message =
        std::string("the batch is in ") + name_of(tensor.slot.kind()) + "; move it with the framework that takes it";
    throw nb::buffer_error(message.c_str());
  }
  if (copy.value_or(false)) throw nb::buffer_error("a batch is exported without a copy; copy it afterwards");
  DlView view{tensor.slot, tensor.data, tensor.dtype, tensor.shape, handed_over(tensor, stream)};
  if (max_version && nb::cast<int>((*max_version)[0]) >= 1) return capsule(export_dlpack_versioned(std::move(view)));
  return capsule(export_dlpack(std::move(view)));
}

const char* buffer_format(Dtype dtype) {
  switch (dtype) {
    case Dtype::kUint8: return "B";
    case Dtype::kInt32: return "i";
    case Dtype::kInt64: return "q";
    case Dtype::kFloat32: return "f";
    case Dtype::kBfloat16: return nullptr;
    case Dtype::kBool: return "?";
    case Dtype::kInt8: return "b";
    case Dtype::kInt16: return "h";
    case Dtype::kUint16: return "H";
    case Dtype::kUint32: return "I";
    case Dtype::kUint64: return "Q";
    case Dtype::kFloat16: return "e";
    case Dtype::kFloat64: return "d";
  }
  return nullptr;
}

int get_buffer(PyObject* self, Py_buffer* view, int /*flags*/) noexcept {
  auto* tensor = nb::inst_ptr<Tensor>(self);
  const char* format = buffer_format(tensor->dtype);
  if (tensor->slot.kind().place == MemoryKind::Place::kDevice) {
    PyErr_SetString(PyExc_BufferError, "the batch is in a device's memory; take it by DLPack");
    return -1;
  }
  if (format == nullptr) {
    PyErr_SetString(PyExc_BufferError, "bfloat16 has no buffer format; take it by DLPack");
    return -1;
  }
  const std::size_t rank = tensor->shape.size();
  auto* extents = new (std::nothrow) Py_ssize_t[2 * rank];
  if (extents == nullptr) {
    PyErr_NoMemory();
    return -1;
  }
  Py_ssize_t stride = static_cast<Py_ssize_t>(size_of(tensor->dtype));
  view->itemsize = stride;
  for (std::size_t i = rank; i-- > 0;) {
    extents[i] = static_cast<Py_ssize_t>(tensor->shape[i]);
    extents[rank + i] = stride;
    stride *= extents[i];
  }
  view->buf = tensor->data;
  view->obj = self;
  Py_INCREF(self);
  view->len = stride;
  view->readonly = 0;
  view->ndim = static_cast<int>(rank);
  view->format = const_cast<char*>(format);
  view->shape = extents;
  view->strides = extents + rank;
  view->suboffsets = nullptr;
  view->internal = extents;
  return 0;
}

/// What NumPy asks for where a tensor has no buffer: so that it says why, in the place of an array of one object.
nb::object as_array(const nb::handle& self, const nb::args& arguments, const nb::kwargs& options) {
  const auto& tensor = nb::cast<const Tensor&>(self);
  if (tensor.slot.kind().place == MemoryKind::Place::kDevice) {
    throw nb::type_error(
        "NumPy cannot read a batch in a device's memory; copy it to the host first, as by "
        "torch.from_dlpack(tensor).cpu()");
  }
  if (buffer_format(tensor.dtype) == nullptr) throw nb::type_error("NumPy has no bfloat16; take it by DLPack");
  const auto memory = nb::steal(PyMemoryView_FromObject(self.ptr()));
  return nb::module_::import_("numpy").attr("array")(memory, *arguments, **options);
}

void release_buffer(PyObject* /*self*/, Py_buffer* view) noexcept { delete[] static_cast<Py_ssize_t*>(view->internal); }

PyType_Slot tensor_slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)},
                              {Py_bf_releasebuffer, reinterpret_cast<void*>(release_buffer)},
                              {0, nullptr}};

Tensor tensor_of(const Batch& batch, const Column& column) {
  return {batch.slot, batch.slot.data() + column.offset, column.dtype,
          batch.plan->layout.shape(batch.slot.data(), column, batch.rows)};
}

nb::typed<nb::list, std::string> names_of(const Batch& batch) {
  nb::list names;
  for (const Column& column : batch.plan->layout.columns()) names.append(nb::cast(column.name));
  return names;
}

nb::dict tensors_of(const Batch& batch) {
  nb::dict tensors;
  for (const Column& column : batch.plan->layout.columns()) {
    tensors[column.name.c_str()] = nb::cast(tensor_of(batch, column));
  }
  return tensors;
}

/// All columns but those that say where the rows are from.
std::span<const Column> content_columns(const Batch& batch) {
  const BatchLayout& layout = batch.plan->layout;
  return std::span(layout.columns()).first(layout.find("index"));
}

nb::typed<nb::list, Tensor> content_of(const Batch& batch) {
  nb::list content;
  for (const Column& column : content_columns(batch)) content.append(nb::cast(tensor_of(batch, column)));
  return content;
}

/// Columns of a batch in the host's memory as capsules of DLPack, without what a Tensor of each takes.
std::optional<nb::list> capsules_of(const Batch& batch, bool content) {
  if (batch.slot.kind().place != MemoryKind::Place::kHost) return std::nullopt;
  nb::list capsules;
  for (const Column& column : content ? content_columns(batch) : batch.plan->layout.columns()) {
    const Tensor tensor = tensor_of(batch, column);
    capsules.append(capsule(export_dlpack({tensor.slot, tensor.data, tensor.dtype, tensor.shape})));
  }
  return capsules;
}

}  // namespace

void bind_batch(nb::module_& module) {
  nb::class_<Tensor>(module, "Tensor", nb::type_slots(tensor_slots), "A column of a batch, exclusively the holder's.")
      .def_prop_ro("shape", [](const Tensor& self) { return nb::tuple(nb::cast(self.shape)); })
      .def_prop_ro("dtype", [](const Tensor& self) { return std::string(name_of(self.dtype)); })
      .def("__array__", &as_array,
           nb::sig("def __array__(self, dtype: object = None, *, copy: bool | None = None) -> object"))
      .def("__dlpack__", &dlpack, nb::kw_only(), "stream"_a = nb::none(), "max_version"_a = nb::none(),
           "dl_device"_a = nb::none(), "copy"_a = nb::none())
      .def("__dlpack_device__", [](const Tensor& self) {
        const DlDevice here = device_of(self.slot.kind());
        return nb::make_tuple(here.device_type, here.device_id);
      });

  nb::class_<Batch>(module, "Batch", "Rows of every column; its memory is free for reuse when the last tensor is gone.")
      .def_ro("rows", &Batch::rows)
      .def_ro("step", &Batch::step)
      .def_ro("position", &Batch::position)
      .def_prop_ro("on_gpu", [](const Batch& self) { return self.slot.kind().place == MemoryKind::Place::kDevice; })
      .def_prop_ro("names", &names_of)
      .def_prop_ro("tensors", &tensors_of)
      .def_prop_ro("content", &content_of, "What the samples hold, in order: all but index, position and flags.")
      .def("capsules", &capsules_of, "content"_a = false,
           "All columns, or the content, as DLPack capsules, which own them; None where that is no host memory.");
}

}  // namespace drapps
