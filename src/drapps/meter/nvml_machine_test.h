// For the tests of this folder: the stand-in library with a machine of no GPUs, anew for each test.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <stdexcept>
#include <string>

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
  std::map<std::string, std::string> variables;
  const std::function<const char*(const char*)> environment = [this](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };

 private:
  void* const handle_;
};

}  // namespace drapps
