#include "drapps/decode/jpeg/memory.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <jerror.h>

// libjpeg leaves these two types to its memory manager.
struct jvirt_sarray_control {
  JSAMPARRAY rows;
  JDIMENSION width, height;
  bool zero;
  jvirt_sarray_ptr next;
};

struct jvirt_barray_control {
  JBLOCKARRAY rows;
  JDIMENSION width, height;
  bool zero;
  jvirt_barray_ptr next;
};

namespace drapps::jpeg {

// Called from C frames that error_exit leaves by longjmp: no local here may need a destructor.
struct Calls {
  static MemoryManager& self(j_common_ptr cinfo) { return *reinterpret_cast<MemoryManager*>(cinfo->mem); }

  static void* allocate(j_common_ptr cinfo, int, std::size_t bytes) {
    void* piece = self(cinfo).arena_->allocate(bytes);
    if (piece == nullptr) ERREXIT1(cinfo, JERR_OUT_OF_MEMORY, 0);
    return piece;
  }

  template <class Item>
  static Item** allocate_rows(j_common_ptr cinfo, JDIMENSION width, JDIMENSION height) {
    // libjpeg-turbo's SIMD code reads and writes whole vectors past the end of a row.
    const std::size_t stride = (std::size_t{width} * sizeof(Item) + kAlignment - 1) / kAlignment * kAlignment;
    auto** rows = static_cast<Item**>(allocate(cinfo, 0, height * sizeof(Item*)));
    auto* items = static_cast<std::uint8_t*>(allocate(cinfo, 0, stride * height));
    for (JDIMENSION y = 0; y < height; ++y) rows[y] = reinterpret_cast<Item*>(items + y * stride);
    return rows;
  }

  static JSAMPARRAY alloc_sarray(j_common_ptr cinfo, int, JDIMENSION width, JDIMENSION height) {
    return allocate_rows<JSAMPLE>(cinfo, width, height);
  }
  static JBLOCKARRAY alloc_barray(j_common_ptr cinfo, int, JDIMENSION width, JDIMENSION height) {
    return allocate_rows<JBLOCK>(cinfo, width, height);
  }

  template <class Array>
  static Array* request(j_common_ptr cinfo, Array*& list, bool zero, JDIMENSION width, JDIMENSION height) {
    auto* array = static_cast<Array*>(allocate(cinfo, 0, sizeof(Array)));
    *array = {nullptr, width, height, zero, list};
    return list = array;
  }
  static jvirt_sarray_ptr request_virt_sarray(j_common_ptr cinfo, int, boolean zero, JDIMENSION width,
                                              JDIMENSION height, JDIMENSION) {
    return request(cinfo, self(cinfo).samples_, zero != FALSE, width, height);
  }
  static jvirt_barray_ptr request_virt_barray(j_common_ptr cinfo, int, boolean zero, JDIMENSION width,
                                              JDIMENSION height, JDIMENSION) {
    return request(cinfo, self(cinfo).blocks_, zero != FALSE, width, height);
  }

  template <class Item, class Array>
  static void realize(j_common_ptr cinfo, Array*& list) {
    for (; list != nullptr; list = list->next) {
      list->rows = allocate_rows<Item>(cinfo, list->width, list->height);
      if (!list->zero) continue;
      for (JDIMENSION y = 0; y < list->height; ++y) std::memset(list->rows[y], 0, list->width * sizeof(Item));
    }
  }
  static void realize_virt_arrays(j_common_ptr cinfo) {
    realize<JSAMPLE>(cinfo, self(cinfo).samples_);
    realize<JBLOCK>(cinfo, self(cinfo).blocks_);
  }

  template <class Array>
  static auto access(j_common_ptr cinfo, Array* array, JDIMENSION start, JDIMENSION count) {
    if (array->rows == nullptr || start > array->height || count > array->height - start) {
      ERREXIT(cinfo, JERR_BAD_VIRTUAL_ACCESS);
    }
    return array->rows + start;
  }
  static JSAMPARRAY access_virt_sarray(j_common_ptr cinfo, jvirt_sarray_ptr array, JDIMENSION start, JDIMENSION count,
                                       boolean) {
    return access(cinfo, array, start, count);
  }
  static JBLOCKARRAY access_virt_barray(j_common_ptr cinfo, jvirt_barray_ptr array, JDIMENSION start, JDIMENSION count,
                                        boolean) {
    return access(cinfo, array, start, count);
  }

  static void free_pool(j_common_ptr cinfo, int) {
    self(cinfo).samples_ = nullptr;
    self(cinfo).blocks_ = nullptr;
  }
  static void self_destruct(j_common_ptr) {}
};

static_assert(std::is_standard_layout_v<MemoryManager>);  // so that Calls::self() finds it

MemoryManager::MemoryManager(Arena& arena) noexcept : arena_(&arena) {
  functions_.alloc_small = Calls::allocate;
  functions_.alloc_large = Calls::allocate;
  functions_.alloc_sarray = Calls::alloc_sarray;
  functions_.alloc_barray = Calls::alloc_barray;
  functions_.request_virt_sarray = Calls::request_virt_sarray;
  functions_.request_virt_barray = Calls::request_virt_barray;
  functions_.realize_virt_arrays = Calls::realize_virt_arrays;
  functions_.access_virt_sarray = Calls::access_virt_sarray;
  functions_.access_virt_barray = Calls::access_virt_barray;
  functions_.free_pool = Calls::free_pool;
  functions_.self_destruct = Calls::self_destruct;
}

void MemoryManager::install(jpeg_decompress_struct& cinfo) noexcept {
  original_ = cinfo.mem;
  functions_.max_memory_to_use = original_->max_memory_to_use;
  functions_.max_alloc_chunk = original_->max_alloc_chunk;
  cinfo.mem = &functions_;
}

void MemoryManager::remove(jpeg_decompress_struct& cinfo) noexcept {
  if (original_ != nullptr) cinfo.mem = original_;
  original_ = nullptr;
}

}  // namespace drapps::jpeg
