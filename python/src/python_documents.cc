#include "python_documents.h"

#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstdint>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "shared.h"
#include "worker_call.h"

namespace nb = nanobind;

namespace drapps {
namespace {

using text::Corpus;

template <class T>
using Column = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// Documents of a block, from a Python iterator. Where Python finds no memory the iterator is made anew, and goes over
/// the pieces that were given.
class PythonReader final : public text::DocumentReader {
 public:
  /// @param read  outlives the reader.
  PythonReader(const nb::object& read, const Corpus& corpus, const text::Block& block)
      : read_(read), path_(corpus.file(block).path), block_(block) {}
  ~PythonReader() override {
    with_gil([this] { pieces_.reset(); });
    pieces_.release();
  }
  PythonReader(const PythonReader&) = delete;
  PythonReader& operator=(const PythonReader&) = delete;

  Result<bool> next(text::DocumentChunk& documents) override {
    documents.clear();
    documents.block = block_.offset;
    bool more = false;
    if (!error_) call([&] { more = take(documents); });
    if (std::exchange(exhausted_, false)) {
      return Error{.code = ErrorCode::kResourceExhausted,
                   .stage = Stage::kFetch,
                   .message = "Python found no memory to read documents; use smaller row groups, or less elsewhere",
                   .path = path_};
    }
    if (!error_) return more;
    if (std::exchange(failed_, true)) return false;
    text::add_error(*error_, block_.file, documents);
    return true;
  }
  bool ended() const noexcept override { return failed_; }

 private:
  template <class Work>
  void call(const Work& work) {
    const WorkerCall allowed;
    if (!allowed) {
      fail("Python is ending");
      return;
    }
    with_gil([&] {
      try {
        work();
      } catch (const nb::python_error& error) {
        error.matches(PyExc_MemoryError) ? begin_again() : fail(error.what());
      } catch (const std::bad_alloc&) {
        begin_again();
      } catch (const std::exception& error) {
        fail(error.what());
      }
    });
  }
  void begin_again() {
    exhausted_ = true;
    pieces_.reset();
  }
  void fail(std::string message) {
    error_ = Error{.code = ErrorCode::kCorrupt,
                   .stage = Stage::kFetch,
                   .message = std::move(message),
                   .path = path_,
                   .offset = static_cast<std::int64_t>(block_.offset)};
  }
  void open() {
    const nb::object pieces = read_(nb::bytes(path_.data(), path_.size()), block_.offset);
    pieces_ = nb::steal(PyObject_GetIter(pieces.ptr()));
    if (!pieces_.is_valid()) throw nb::python_error();
    for (std::uint64_t piece = 0; piece < pieces_given_; ++piece) nb::steal(next_piece());
  }
  /// Null at the end.
  PyObject* next_piece() {
    PyObject* const next = PyIter_Next(pieces_.ptr());
    if (next == nullptr && PyErr_Occurred() != nullptr) throw nb::python_error();
    return next;
  }
  /// False at the end.
  bool take(text::DocumentChunk& documents) {
    if (!pieces_.is_valid()) open();
    PyObject* const next = next_piece();
    if (next == nullptr) return false;
    const auto piece = nb::steal<nb::tuple>(next);
    const auto bytes = nb::cast<Column<std::uint8_t>>(piece[0]);
    const auto offsets = nb::cast<Column<std::int64_t>>(piece[1]);
    text::add_documents({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, {offsets.data(), offsets.size()},
                        {block_.file, path_}, given_, documents);
    given_ += offsets.size() - std::min<std::size_t>(offsets.size(), 1);
    ++pieces_given_;
    return true;
  }

  const nb::object& read_;
  const std::string path_;
  const text::Block block_;
  nb::object pieces_;
  std::uint64_t given_ = 0;  // texts
  std::uint64_t pieces_given_ = 0;
  bool exhausted_ = false;
  std::optional<Error> error_;
  bool failed_ = false;
};

/// A Python function: path and number of a block to an iterator of (bytes, offsets).
class PythonDocuments final : public text::ForeignDocuments {
 public:
  explicit PythonDocuments(const nb::object& read) : read_(read) {}
  ~PythonDocuments() override {
    with_gil([this] { read_.reset(); });
    read_.release();
  }
  PythonDocuments(const PythonDocuments&) = delete;
  PythonDocuments& operator=(const PythonDocuments&) = delete;

  std::unique_ptr<text::DocumentReader> open(const text::CorpusAccess& access,
                                             const text::Block& block) const override {
    return std::make_unique<PythonReader>(read_, access.corpus, block);
  }

 private:
  nb::object read_;
};

}  // namespace

std::shared_ptr<const text::ForeignDocuments> python_documents(const nb::object& read) {
  return std::make_shared<PythonDocuments>(read);
}

}  // namespace drapps
