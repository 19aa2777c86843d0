// libjpeg's memory manager on an Arena.
//
// libjpeg reaches all memory through the function pointers of cinfo->mem. Its own manager calls malloc for every
// picture; this one bumps a pointer. Everything, the pool that libjpeg calls permanent included, lives until the arena
// is rewound, which the owner does between pictures; whole-image arrays are plain memory, never a file.
#pragma once

#include <cstdio>

#include <jpeglib.h>

#include "drapps/decode/arena.h"

namespace drapps::jpeg {

/// Stands in for the manager that jpeg_create_decompress() made. Where the arena is exhausted, the picture ends through
/// cinfo->err->error_exit with JERR_OUT_OF_MEMORY.
class MemoryManager {
 public:
  explicit MemoryManager(Arena& arena) noexcept;

  /// Takes the place of cinfo->mem. What was allocated before stays with the manager it came from.
  void install(jpeg_decompress_struct& cinfo) noexcept;
  /// Puts libjpeg's own manager back, so that jpeg_destroy_decompress() frees what it holds.
  void remove(jpeg_decompress_struct& cinfo) noexcept;

 private:
  friend struct Calls;
  jpeg_memory_mgr functions_{};  // first, because libjpeg hands back a pointer to it
  Arena* arena_;
  jpeg_memory_mgr* original_ = nullptr;
  jvirt_barray_ptr blocks_ = nullptr;  // arrays that were requested and not yet realized
  jvirt_sarray_ptr samples_ = nullptr;
};

}  // namespace drapps::jpeg
