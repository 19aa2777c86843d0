// What the control plane did, and why: the decisions section of explain(). One log lasts for all passes of a loader.
//
// A ring of bounded length; what falls out of it stays in the totals. An entry is one knob that moved (or one lane's
// weight), a proposal that was held back, or a remark of the policy. The mean step time before a move covers the last
// three seconds before it; the one after, up to five seconds from one second after it, or to the next move. These are
// seconds of steps: the time between two passes is none.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "drapps/plant/policy.h"

namespace drapps {

/// Written by the control thread, read by any.
class DecisionLog {
 public:
  static constexpr std::size_t kEntries = 256;

  /// @param policy  the name of the policy that decides.
  explicit DecisionLog(std::string_view policy) : policy_(policy) {}

  /// What is added from here on was decided in this epoch.
  void begin_epoch(std::uint32_t epoch);
  /// Takes in one decision and the observation it was made from. A proposal that is held back for the same reason as in
  /// the decision before, a remark that repeats and what goes on to be wrong with the observations are counted and not
  /// written again.
  void add(const Decision& decision, const Observation& observation);
  /// Notes something that moved no knob.
  /// @param more  fields of the entry besides, as a JSON object.
  void remark(std::string why, std::string more);
  /// Another policy decides from here on, also where the one before it had stopped, unless nothing `runs` any more.
  void follow(std::string_view policy, bool runs);
  /// The control plane has stopped; only the first call counts. The knobs stay where they are.
  void stopped(std::string_view why);
  void frozen(bool frozen);

  /// "control stopped: <why>", or empty while it runs.
  std::string stop_reason() const;

  /// {"policy", "status": "running" | "frozen" | "stopped", "stop_reason": null | "control stopped: …",
  ///  "totals": {"decisions", "moves", "held", "dropped"},
  ///  "entries": [{"epoch", "time_s", "knob", "before", "proposed", "applied", "why", "held", "step_ms_before",
  ///               "step_ms_after"}]}
  /// oldest first. `epoch` is that of the pass which began last; time_s counts from the first decision of all. `knob`
  /// is a knob's name, "weight <lane>", or null in a remark, whose values are null too; `held` is the guard's reason or
  /// null; step times are null where nothing was measured.
  nlohmann::json to_json() const;

 private:
  static constexpr std::size_t kSubjects = kKnobs + kLanes.size();

  struct LogEntry {
    std::uint32_t epoch = 0;
    std::uint64_t time_ns = 0;
    std::optional<std::size_t> subject;  // a knob's place in the table, then lanes; none for a remark
    std::int32_t before = 0;
    std::int32_t proposed = 0;
    std::int32_t applied = 0;
    Hold hold = Hold::kNone;
    Reason why;
    std::optional<double> step_before_ns;
    std::optional<double> step_after_ns;
    std::string remark;  // instead of why, where it is not empty
    std::string more;    // further fields, as a JSON object
  };
  struct StepMark {
    std::uint64_t count, sum;  // of steps so far, and of their ns
  };

  void note(std::string why, std::string more);
  void push(const LogEntry& entry);
  void measure_after(const StepMark& now);
  std::optional<double> step_before(const StepMark& now) const;

  mutable std::mutex mutex_;  // guards all below
  std::string policy_;
  std::deque<LogEntry> entries_;
  std::uint32_t epoch_ = 0;
  std::deque<StepMark> marks_;     // of the last seconds
  std::optional<StepMark> moved_;  // at the moves whose steps afterwards are still to be measured
  std::optional<StepMark> after_;  // where measuring after these moves begins
  std::uint64_t moved_ns_ = 0;
  std::uint64_t first_ns_ = 0;
  std::uint64_t decisions_ = 0;
  std::uint64_t moves_ = 0;
  std::uint64_t held_ = 0;
  std::uint64_t dropped_ = 0;
  std::array<Hold, kSubjects> last_holds_{};
  Reason last_why_;
  bool faulty_ = false;  // the last decision's observation was
  std::string stop_reason_;
  bool frozen_ = false;
};

}  // namespace drapps
