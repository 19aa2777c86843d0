// For the tests of this folder: the stand-in library with a machine of no GPUs, anew for each test.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "drapps/meter/nvml_devices.h"
#include "drapps/meter/nvml_stand_in_test.h"

namespace drapps {

class NvmlTest : public testing::Test {
 protected:
  explicit NvmlTest(const char* path = NVML_STAND_IN) : library(path), handle_(::dlopen(path, RTLD_NOW)) {
    if (handle_ == nullptr) throw std::runtime_error(::dlerror());
    machine = reinterpret_cast<StandIn>(::dlsym(handle_, "nvml_stand_in"))();
    *machine = {};
  }
  ~NvmlTest() override { ::dlclose(handle_); }

  StandInDevice& add_gpu(const char* uuid, const char* name = "Model") {
    StandInDevice& gpu = machine->gpus[machine->count++];
    gpu.uuid = uuid;
    gpu.name = name;
    return gpu;
  }

  const char* const library;
  StandInMachine* machine;
  GpuEnvironment environment;  // in which nothing is set

 private:
  void* const handle_;
};

}  // namespace drapps
