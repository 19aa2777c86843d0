// Items of datasets that processes share: drapps._core.ItemCache.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "drapps/pipeline/engine.h"
#include "drapps/shm/item_cache.h"
#include "shared.h"

namespace nb = nanobind;

namespace drapps {
namespace {

using nb::literals::operator""_a;
using Nanoseconds = std::chrono::nanoseconds;
template <class Byte>
using ItemArray = nb::ndarray<nb::numpy, Byte, nb::ndim<1>>;

// How often who waits lets Python run its signal handlers.
constexpr Nanoseconds kSignalsEvery = std::chrono::milliseconds(50);

struct SharedItems {
  std::shared_ptr<ItemCache> cache;
  std::unique_ptr<MemoryLedger> account;  // the maker's: others fill the cache, too, so all of the budget is in use
};

template <class T>
T or_raise(Result<T> result) {
  if (!result.ok()) raise_for_file(result.error());
  return std::move(result).value();
}

template <class Array>
Array array_from(const nb::bytes& bytes, const char* wrong) {
  Array array{};
  if (bytes.size() != sizeof(array)) throw nb::value_error(wrong);
  std::memcpy(array.data(), bytes.data(), sizeof(array));
  return array;
}

template <class Array>
nb::bytes bytes_of(const Array& array) {
  return nb::bytes(reinterpret_cast<const char*>(array.data()), sizeof(array));
}

SharedItems make_items(std::uint64_t items, std::uint64_t budget, const nb::bytes& key) {
  auto cache = or_raise(ItemCache::make(items, budget, array_from<ItemKey>(key, "a key has 32 bytes")));
  auto account = std::make_unique<MemoryLedger>(&Engine::get().memory(MemoryUse::kProcesses));
  account->set_used(cache->table_bytes() + cache->budget());
  return {.cache = std::move(cache), .account = std::move(account)};
}

SharedItems attach_items(std::int32_t pid, std::int32_t fd, const nb::bytes& token) {
  return {.cache = or_raise(ItemCache::attach(pid, fd, array_from<ItemToken>(token, "a token has 16 bytes"))),
          .account = nullptr};
}

std::uint64_t checked_index(const SharedItems& self, std::uint64_t index) {
  if (index >= self.cache->items()) throw nb::index_error("the cache has no such index");
  return index;
}

/// An array over an item's bytes, which keeps their memory.
template <class Byte>
ItemArray<Byte> array_of(const SharedItems& self, Byte* data, std::size_t bytes) {
  auto* kept = new std::shared_ptr<ItemCache>(self.cache);
  const nb::capsule owner(kept, [](void* cache) noexcept { delete static_cast<std::shared_ptr<ItemCache>*>(cache); });
  return ItemArray<Byte>(data, {bytes}, owner);
}

std::optional<ItemArray<const std::uint8_t>> get(const SharedItems& self, std::uint64_t index) {
  const auto item = self.cache->get(checked_index(self, index));
  if (!item) return std::nullopt;
  return array_of(self, reinterpret_cast<const std::uint8_t*>(item->data()), item->size());
}

const char* name_of(ItemClaim claim) {
  switch (claim) {
    case ItemClaim::kTaken: return "taken";
    case ItemClaim::kReady: return "ready";
    case ItemClaim::kBusy:
    case ItemClaim::kStopped: return "busy";
  }
  return "busy";
}

const char* claim(const SharedItems& self, std::uint64_t index, double patience) {
  ItemClaim outcome = self.cache->claim(checked_index(self, index));
  if (std::isnan(patience)) throw nb::value_error("patience is a number of seconds");
  const Nanoseconds most(static_cast<std::int64_t>(std::clamp(patience, 0.0, 1e9) * 1e9));
  const auto until = std::chrono::steady_clock::now() + most;
  while (outcome == ItemClaim::kBusy) {
    const Nanoseconds left = until - std::chrono::steady_clock::now();
    if (left <= Nanoseconds(0)) break;
    {
      const WithoutGil released;
      outcome = self.cache->claim(index, std::min(left, kSignalsEvery));
    }
    if (PyErr_CheckSignals() != 0) {
      if (outcome == ItemClaim::kTaken) self.cache->abandon(index);
      throw nb::python_error();
    }
  }
  return name_of(outcome);
}

std::optional<ItemArray<std::uint8_t>> begin(const SharedItems& self, std::uint64_t index, std::uint64_t nbytes) {
  checked_index(self, index);
  const auto room = or_raise([&] {
    const WithoutGil released;
    return self.cache->begin(index, nbytes);
  }());
  if (!room) return std::nullopt;
  return array_of(self, reinterpret_cast<std::uint8_t*>(room->data()), room->size());
}

nb::dict stats(const SharedItems& self) {
  const ItemStats statistics = self.cache->stats();
  nb::dict report;
  report["items"] = statistics.kept;
  report["bytes"] = statistics.bytes;
  report["budget"] = self.cache->budget();
  report["table_bytes"] = self.cache->table_bytes();
  report["hits"] = statistics.hits;
  report["misses"] = statistics.misses;
  report["refused"] = statistics.refused;
  report["abandoned"] = statistics.abandoned;
  return report;
}

}  // namespace

void bind_cache(nb::module_& module) {
  nb::class_<SharedItems>(module, "ItemCache", "Items of a dataset by index, in memory that processes share.")
      .def_static(
          "make", &make_items, "items"_a, "budget"_a, "key"_a,
          "A new cache; the key has 32 bytes. All of the budget counts as used in this process. Raises ValueError, "
          "OSError.")
      .def_static("attach", &attach_items, "pid"_a, "fd"_a, "token"_a,
                  "That which has the descriptor `fd` in a process. Raises ValueError, OSError.")
      .def_prop_ro("fd", [](const SharedItems& self) { return self.cache->fd(); })
      .def_prop_ro("token", [](const SharedItems& self) { return bytes_of(self.cache->token()); })
      .def_prop_ro("key", [](const SharedItems& self) { return bytes_of(self.cache->key()); })
      .def("__len__", [](const SharedItems& self) { return self.cache->items(); })
      .def("get", &get, "index"_a, "The bytes of an item, where they lie; None where it is not there.")
      .def("claim", &claim, "index"_a, "patience"_a = 0.0,
           "Whether this process makes an item now (taken), it is there (ready), or another is still making it (busy), "
           "which is waited for up to `patience` seconds, but not while that one is stopped.")
      .def("begin", &begin, "index"_a, "nbytes"_a,
           "Room for an item that was claimed; None where there is none, and the claim is over.")
      .def(
          "publish",
          [](const SharedItems& self, std::uint64_t index) {
            or_raise(self.cache->publish(checked_index(self, index)));
          },
          "index"_a, "What was written is the item from now on.")
      .def(
          "abandon",
          [](const SharedItems& self, std::uint64_t index) { self.cache->abandon(checked_index(self, index)); },
          "index"_a, "A claimed item is not to be kept.")
      .def(
          "first", [](const SharedItems& self, std::uint32_t what) { return self.cache->first(what); }, "what"_a,
          "Whether no process has asked the same before, of a number below 64.")
      .def(
          "asked", [](const SharedItems& self, std::uint32_t what) { return self.cache->asked(what); }, "what"_a,
          "Whether any process has asked `first` about it.")
      .def(
          "reclaim", [](const SharedItems& self) { self.cache->reclaim(); },
          "Releases what dead processes were making.")
      .def("stats", &stats);
}

}  // namespace drapps
