// Whether the depths still fit, long after the start: a storage that has become slower wants more reads at once, and
// one that refuses requests wants fewer.
//
// 1. Watching. Over one window of training steps after another (step_window.h). A window in which the training waited
//    for a tenth of its time, and workers waited for storage for a fifth of theirs, asks for depths as the start does
//    (read_meter.h). Where more than a twentieth of its reads were refused it asks for the next lower I/O depth
//    instead. Neither while another loader tries something.
// 2. Where these are not what stands they are proposed until they are in force, for at most so many decisions. If the
//    storage begins to refuse on the way to more, they go back at once.
// 3. What was asked for before has to be over: a second later, or five where requests were refused, which is how long
//    such a one waits at most until it is asked again. The next window judges: a step that is not shorter by a
//    twentieth, and by more than its error, was not worth it, and the depths go back. For a storage whose bandwidth is
//    used up answers later the more it is asked, and who followed its latency would only ever go up.
// 4. What was not worth it, more reads or fewer, is not asked for again for half a minute; after each further time for
//    twice as long. Nor are more, for half a minute after fewer were worth it.
#pragma once

#include <cstdint>
#include <optional>

#include "drapps/plant/policy.h"
#include "drapps/policy/read_meter.h"
#include "drapps/policy/step_window.h"

namespace drapps {

/// What a policy remembers of the watch. Plain and trivially copyable; zero bytes are its beginning.
struct DepthWatch {
  enum class DepthPhase : std::uint8_t { kBegin, kWatch, kMove, kSettle, kJudge, kReturn };

  DepthPhase phase;
  std::uint32_t asked;  // decisions in which the knobs were asked to move
  struct Rest {
    std::uint64_t until_ns;
    std::uint32_t failures;  // in a row
  } more, fewer;
  std::uint64_t settled_ns;  // when the effect of a move can be seen
  ReadMark mark;             // at the beginning of the window
  std::uint64_t workers_ns, storage_ns;
  ReadMeter metered;     // rate 0: the storage refuses
  Settings wanted;       // of which the depths count
  Settings before;       // the move
  StepMeasure measured;  // before the move
  StepWindow window;
};

/// What the watch proposes now, and why; nothing where it has nothing to say. It moves only the two depths.
std::optional<Settings> watch_depths(DepthWatch& watch, const Observation& seen, PolicyState& state);

}  // namespace drapps
