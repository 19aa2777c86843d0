// What decoding has learnt of JPEG files, in memory that processes share: drapps._core.Indexes.
#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "drapps/pipeline/engine.h"
#include "shared.h"

namespace nb = nanobind;

namespace drapps {
namespace {

using nb::literals::operator""_a;
using jpeg::SharedIndexStore;

std::shared_ptr<SharedIndexStore> or_raise(Result<std::shared_ptr<SharedIndexStore>> store) {
  if (!store.ok()) raise_for_file(store.error());
  return std::move(store).value();
}

/// Books the pages that are in use by now.
void book(const SharedIndexes& self) {
  if (self.account != nullptr) self.account->set_used(self.store->bytes());
}

SharedIndexes make_indexes(std::uint64_t budget, std::uint64_t pictures) {
  SharedIndexes indexes{.store = or_raise(SharedIndexStore::make(budget, pictures)),
                        .account = std::make_unique<MemoryLedger>(&Engine::get().memory(MemoryUse::kProcesses))};
  book(indexes);
  return indexes;
}

nb::dict indexes_stats(const SharedIndexes& self) {
  book(self);
  const jpeg::SharedIndexStatistics statistics = self.store->statistics();
  nb::dict report;
  report["samples"] = statistics.records;
  report["complete"] = statistics.complete;
  report["entries"] = statistics.entries;
  report["coverage"] = statistics.coverage();
  report["bytes"] = self.store->bytes();
  report["budget"] = self.store->budget();
  report["hits"] = statistics.hits;
  report["misses"] = statistics.misses;
  report["refused"] = statistics.refused;
  report["damaged"] = statistics.damaged;
  return report;
}

}  // namespace

void bind_indexes(nb::module_& module) {
  nb::class_<SharedIndexes>(module, "Indexes",
                            "What decoding has learnt of JPEG files, in memory that processes share.")
      .def_static("make", &make_indexes, "budget"_a, "pictures"_a,
                  "A new table of so many bytes, for so many pictures; 0 where that is not known. What is in use of it "
                  "counts in this process. Raises ValueError, OSError.")
      .def_static(
          "attach",
          [](int fd) { return SharedIndexes{.store = or_raise(SharedIndexStore::attach(fd)), .account = nullptr}; },
          "fd"_a, "The table of a descriptor, which stays the caller's. Raises ValueError, OSError.")
      .def_prop_ro("fd", [](const SharedIndexes& self) { return self.store->fd(); })
      .def("book", &book, "What is in use by now counts in the process that made it.")
      .def("stats", &indexes_stats,
           "samples: pictures that are known, complete: as a whole; entries; coverage: their share, 0 to 1; bytes, "
           "budget; hits, misses: of decoding; refused: for want of room; damaged: written over.");
}

}  // namespace drapps
