// Sources, loaders, iterators and batches: drapps._core.{Source, Loader, Iterator, Batch, Tensor}.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cxxabi.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "drapps/control/loader.h"
#include "drapps/deliver/dlpack.h"
#include "drapps/plant/schema.h"

namespace nb = nanobind;

namespace drapps {
namespace {

using nb::literals::operator""_a;
using Int64Column = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using FloatRows = nb::ndarray<const float, nb::shape<-1, 4>, nb::c_contig, nb::device::cpu>;
using BoxColumns = nb::typed<nb::tuple, Int64Column, FloatRows, Int64Column>;

// How often a waiting next() lets Python run its signal handlers.
constexpr std::chrono::milliseconds kSignalPeriod{50};

/// While it lives, other threads may run Python. An interpreter that has begun to end kills a thread that asks for the
/// GIL (before 3.14), by unwinding its stack; no destructor survives that, so such a thread, a daemon, stops here.
class WithoutGil {
 public:
  WithoutGil() : thread_(PyEval_SaveThread()) {}
  ~WithoutGil() {
    try {
      PyEval_RestoreThread(thread_);
    } catch (abi::__forced_unwind&) {
      for (;;) pause();
    }
  }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* const thread_;
};

/// args of SampleError, and a line of a ledger.
nb::tuple error_args(const Error& error) {
  const auto stage = name_of(error.stage);
  const auto code = name_of(error.code);
  return nb::make_tuple(nb::str(stage.data(), stage.size()), nb::str(code.data(), code.size()),
                        nb::steal<nb::str>(PyUnicode_DecodeFSDefaultAndSize(
                            error.path.data(), static_cast<Py_ssize_t>(error.path.size()))),
                        error.offset, error.index, error.message);
}

nb::list ledger_of(const std::vector<Error>& errors) {
  nb::list lines;
  for (const Error& error : errors) {
    const nb::tuple args = error_args(error);
    nb::dict line;
    const char* names[] = {"stage", "code", "path", "offset", "index", "message"};
    for (std::size_t i = 0; i < 6; ++i) line[names[i]] = args[i];
    lines.append(line);
  }
  return lines;
}

/// The value, or ValueError: descriptions and options are checked before anything runs.
template <class T>
T value_of(Result<T> result) {
  if (!result.ok()) throw nb::value_error(result.error().message.c_str());
  return std::move(result).value();
}

// ---- sources

/// A source that several loaders share.
struct SharedSource {
  std::shared_ptr<Source> source;
};

std::string_view path_bytes(nb::handle path) {
  if (nb::isinstance<nb::bytes>(path)) {
    const auto bytes = nb::cast<nb::bytes>(path);
    return {bytes.c_str(), bytes.size()};
  }
  return nb::cast<std::string_view>(path);
}

PathList path_list(const nb::sequence& paths) {
  PathList list;
  for (const nb::handle path : paths) static_cast<void>(value_of(list.append(path_bytes(path))));
  return list;
}

Targets targets_of(const std::optional<Int64Column>& labels, const std::optional<BoxColumns>& boxes) {
  Targets targets;
  if (labels) targets.labels.push_back({"label", {labels->data(), labels->data() + labels->size()}});
  if (boxes) {
    const auto offsets = nb::cast<Int64Column>((*boxes)[0]);
    const auto edges = nb::cast<FloatRows>((*boxes)[1]);
    const auto classes = nb::cast<Int64Column>((*boxes)[2]);
    targets.box_offsets.assign(offsets.data(), offsets.data() + offsets.size());
    for (std::size_t i = 0; i < edges.shape(0); ++i) {
      const float* edge = edges.data() + 4 * i;
      targets.boxes.push_back({edge[0], edge[1], edge[2], edge[3]});
    }
    targets.box_labels.assign(classes.data(), classes.data() + classes.size());
  }
  return targets;
}

SharedSource files(const nb::sequence& paths, const std::optional<Int64Column>& labels,
                   const std::optional<nb::sequence>& masks, const std::optional<BoxColumns>& boxes) {
  return {
      value_of(FileSource::make(path_list(paths), masks ? path_list(*masks) : PathList{}, targets_of(labels, boxes)))};
}

SharedSource memory(const nb::sequence& records, const std::optional<Int64Column>& labels,
                    const std::optional<nb::sequence>& masks, const std::optional<BoxColumns>& boxes) {
  // The bytes objects stay alive with the source, and die under the GIL.
  auto kept = std::shared_ptr<std::vector<nb::bytes>>(new std::vector<nb::bytes>, [](std::vector<nb::bytes>* held) {
    const nb::gil_scoped_acquire gil;
    delete held;
  });
  const auto spans = [&](const nb::sequence& given) {
    std::vector<MemorySource::Bytes> bytes;
    for (const nb::handle record : given) {
      kept->push_back(nb::cast<nb::bytes>(record));
      bytes.emplace_back(reinterpret_cast<const std::uint8_t*>(kept->back().c_str()), kept->back().size());
    }
    return bytes;
  };
  auto images = spans(records);
  auto mask_images = masks ? spans(*masks) : std::vector<MemorySource::Bytes>{};
  return {value_of(MemorySource::make(std::move(images), kept, std::move(mask_images), targets_of(labels, boxes)))};
}

// ---- batches

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
  PyObject* made = PyCapsule_New(managed, kCapsule<Managed>, [](PyObject* self) {
    if (PyCapsule_IsValid(self, kCapsule<Managed>) == 0) return;
    auto* unused = static_cast<Managed*>(PyCapsule_GetPointer(self, kCapsule<Managed>));
    unused->deleter(unused);
  });
  if (made == nullptr) {
    managed->deleter(managed);
    throw nb::python_error();
  }
  return nb::steal(made);
}

nb::object dlpack(const Tensor& tensor, const nb::object& /*stream*/,
                  const std::optional<nb::typed<nb::tuple, int, int>>& max_version,
                  const std::optional<nb::typed<nb::tuple, int, int>>& dl_device, std::optional<bool> copy) {
  if (dl_device && nb::cast<int>((*dl_device)[0]) != kDlCpu) {
    throw nb::buffer_error("the batch is in CPU memory; move it with the framework that takes it");
  }
  if (copy.value_or(false)) throw nb::buffer_error("a batch is exported without a copy; copy it afterwards");
  if (max_version && nb::cast<int>((*max_version)[0]) >= 1) {
    return capsule(export_dlpack_versioned(tensor.slot, tensor.data, tensor.dtype, tensor.shape));
  }
  return capsule(export_dlpack(tensor.slot, tensor.data, tensor.dtype, tensor.shape));
}

const char* buffer_format(Dtype dtype) {
  switch (dtype) {
    case Dtype::kUint8: return "B";
    case Dtype::kInt32: return "i";
    case Dtype::kInt64: return "q";
    case Dtype::kFloat32: return "f";
    case Dtype::kBfloat16: return nullptr;
  }
  return nullptr;
}

int get_buffer(PyObject* self, Py_buffer* view, int /*flags*/) noexcept {
  auto* tensor = nb::inst_ptr<Tensor>(self);
  const char* format = buffer_format(tensor->dtype);
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

void release_buffer(PyObject* /*self*/, Py_buffer* view) noexcept { delete[] static_cast<Py_ssize_t*>(view->internal); }

PyType_Slot tensor_slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)},
                              {Py_bf_releasebuffer, reinterpret_cast<void*>(release_buffer)},
                              {0, nullptr}};

nb::dict tensors_of(const Batch& batch) {
  nb::dict tensors;
  for (const Column& column : batch.plan->layout.columns()) {
    std::vector<std::int64_t> shape{batch.rows};
    shape.insert(shape.end(), column.row_shape.begin(), column.row_shape.end());
    tensors[column.name.c_str()] =
        nb::cast(Tensor{batch.slot, batch.slot.data() + column.offset, column.dtype, std::move(shape)});
  }
  return tensors;
}

// ---- loaders

Loader::Pass pass_of(std::uint32_t epoch, std::uint64_t start, const std::optional<Int64Column>& order,
                     std::optional<std::uint64_t> seed) {
  Loader::Pass pass{.epoch = epoch, .start = start, .order = nullptr, .seed = seed};
  if (order) {
    pass.order = std::make_shared<const std::vector<std::uint64_t>>(order->data(), order->data() + order->size());
  }
  return pass;
}

Batch next_batch(Iterator& iterator, const nb::object& sample_error) {
  std::optional<Executor::Next> next;
  while (!next) {
    {
      const WithoutGil released;
      next = iterator.next(kSignalPeriod);
    }
    if (!next && PyErr_CheckSignals() != 0) throw nb::python_error();
  }
  if (std::holds_alternative<Executor::Finished>(*next)) throw nb::stop_iteration();
  if (const auto* error = std::get_if<Error>(&*next)) {
    PyErr_SetObject(sample_error.ptr(), error_args(*error).ptr());
    throw nb::python_error();
  }
  return std::get<Batch>(std::move(*next));
}

nb::dict counters(const Iterator& iterator) {
  nb::dict counted;
  const Executor* executor = iterator.executor();
  if (executor == nullptr) return counted;
  const Metrics& metrics = executor->metrics();
  counted["batches"] = metrics.batches.load();
  counted["samples"] = metrics.samples.load();
  counted["failed_samples"] = metrics.failed_samples.load();
  counted["kernel_cpu_s"] =
      static_cast<double>(metrics.kernel_cpu_sampled.load()) * 1e-9 * static_cast<double>(Metrics::kKernelSampling);
  counted["stall_s"] = static_cast<double>(metrics.stall.counts().sum) * 1e-9;
  return counted;
}

nb::dict memory_of() {
  const MemoryLedger& ledger = Engine::get().memory();
  nb::dict memory;
  memory["used"] = ledger.used();
  memory["peak"] = ledger.peak();
  memory["limit"] = ledger.limit();
  memory["held"] = ledger.held();
  return memory;
}

}  // namespace

void bind_pipeline(nb::module_& module) {
  // A loader alive at exit is no leak: its threads end with the process.
  nb::set_leak_warnings(false);

  auto sample_error = nb::steal(PyErr_NewExceptionWithDoc(
      "drapps._core.SampleError", "args: (stage, code, path, offset, index, message).", PyExc_RuntimeError, nullptr));
  module.attr("SampleError") = sample_error;

  nb::class_<SharedSource>(module, "Source", "Records by index: encoded images, and what belongs to each.")
      .def_static("files", &files, "paths"_a, "labels"_a = nb::none(), "masks"_a = nb::none(), "boxes"_a = nb::none(),
                  "One file per image. Nothing is opened before it is read.")
      .def_static("memory", &memory, "records"_a, "labels"_a = nb::none(), "masks"_a = nb::none(),
                  "boxes"_a = nb::none(), "Encoded images in memory, not copied.")
      .def("__len__", [](const SharedSource& self) { return self.source->size(); })
      .def(
          "hint",
          [](const SharedSource& self, std::uint64_t index) {
            if (index >= self.source->size()) throw nb::index_error("no such sample");
            const Hint hint = self.source->hint(index);
            return nb::make_tuple(hint.bytes, hint.pixels);
          },
          "index"_a, "(bytes, pixels) of a record, 0 where not yet known.");

  nb::class_<Tensor>(module, "Tensor", nb::type_slots(tensor_slots), "A column of a batch, exclusively the holder's.")
      .def_prop_ro("shape", [](const Tensor& self) { return nb::tuple(nb::cast(self.shape)); })
      .def_prop_ro("dtype", [](const Tensor& self) { return std::string(name_of(self.dtype)); })
      .def("__dlpack__", &dlpack, nb::kw_only(), "stream"_a = nb::none(), "max_version"_a = nb::none(),
           "dl_device"_a = nb::none(), "copy"_a = nb::none())
      .def("__dlpack_device__", [](const Tensor&) { return nb::make_tuple(kDlCpu, 0); });

  nb::class_<Batch>(module, "Batch", "Rows of every column; its memory is free for reuse when the last tensor is gone.")
      .def_ro("rows", &Batch::rows)
      .def_ro("step", &Batch::step)
      .def_ro("position", &Batch::position)
      .def_prop_ro("tensors", &tensors_of);

  nb::class_<Iterator>(module, "Iterator", "One pass over one epoch.")
      .def(
          "next", [sample_error](Iterator& self) { return next_batch(self, sample_error); },
          "The next batch, StopIteration, or SampleError, after which the next call goes on.")
      .def_prop_ro("position", &Iterator::position)
      .def_prop_ro("left", &Iterator::left)
      .def("ledger", [](const Iterator& self) { return ledger_of(self.bad_samples()); })
      .def("counters", &counters, "What this pass counted so far; empty once closed.")
      .def("close", &Iterator::close, nb::call_guard<WithoutGil>());

  nb::class_<Loader>(module, "Loader", "A described pipeline over a source.")
      .def(nb::new_([](const SharedSource& source, std::string_view spec, std::string_view options) {
             return value_of(Loader::make(value_of(parse_spec(spec)), source.source, value_of(parse_options(options))));
           }),
           "source"_a, "spec"_a, "options"_a)
      .def(
          "steps",
          [](const Loader& self, std::uint32_t epoch, std::uint64_t start) {
            return value_of(self.steps({.epoch = epoch, .start = start}));
          },
          "epoch"_a, "start"_a = 0)
      .def(
          "iterate",
          [](Loader& self, std::uint32_t epoch, std::uint64_t start, const std::optional<Int64Column>& order,
             std::optional<std::uint64_t> seed) { return value_of(self.iterate(pass_of(epoch, start, order, seed))); },
          "epoch"_a, "start"_a = 0, "order"_a = nb::none(), "seed"_a = nb::none())
      .def("explain", [](const Loader& self) { return self.explain().dump(); })
      .def("settings", [](const Loader& self) { return settings_to_json(self.settings()).dump(); })
      .def(
          "apply",
          [](Loader& self, const std::string& text) {
            self.apply(value_of(settings_from_json(nlohmann::json::parse(text, nullptr, false))));
          },
          "settings"_a)
      .def("freeze", &Loader::freeze, "frozen"_a)
      .def("memory", [](const Loader&) { return memory_of(); });
}

}  // namespace drapps
