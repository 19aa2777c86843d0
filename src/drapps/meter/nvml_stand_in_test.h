// For the tests of this folder: a library in the place of NVIDIA's, whose machine the test makes up.
#pragma once

namespace drapps {

enum StandInQuestion {
  kAskUse,
  kAskMemory,
  kAskClock,
  kAskPower,
  kAskEnergy,
  kAskReasons,
  kAskPcie,
  kStandInQuestions
};

struct StandInDevice {
  const char* name = "Model";
  const char* uuid = "";
  int answers[kStandInQuestions] = {};  // nvmlReturn_t of each question; 0 is success
  bool split = false;                   // MIG
  StandInDevice* whole = nullptr;       // of an instance: its GPU
  unsigned percent = 0;
  unsigned long long total = 0, reserved = 0, used = 0;  // bytes
  unsigned sm_mhz = 0, memory_mhz = 0;
  unsigned milliwatts = 0;
  unsigned long long millijoules = 0;
  unsigned long long reasons = 0;
  unsigned to_host = 0, from_host = 0;  // KiB/s
};

struct StandInMachine {
  int started = 0;  // nvmlInit less nvmlShutdown
  int init_answer = 0;
  unsigned questions = 0;  // asked of devices so far
  unsigned count = 0;
  StandInDevice gpus[4];
  StandInDevice* instances[4] = {};  // of the first GPU, by index; an index may be free
};

/// What a test finds by dlsym() under the name of nvml_stand_in.
using StandIn = StandInMachine* (*)();

}  // namespace drapps
