// How much of this machine belongs to this process.
//
// What the hardware has is rarely what a process may use: a container has a CPU quota, a batch system
// pins its jobs, and the ranks of one training job share a node. All of it is read from /proc and /sys at
// each call; nothing here is cached.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>

namespace drapps {

/// This process's share. `cpus` and the byte counts are already divided by `local_ranks`.
struct MachineLimits {
  double cpus = 1;                  // cores; a quota may make it a fraction. > 0
  std::size_t memory_bytes = 0;     // min(MemTotal, cgroup limits)
  std::size_t available_bytes = 0;  // min(MemAvailable, what the cgroups have left); <= memory_bytes
  int local_ranks = 1;              // processes of the same job on this node
  // What led to the limits above, for reports; not divided by `local_ranks`.
  int affinity_cpus = 1;                // the scheduler's mask and the cpusets, intersected
  double quota_cpus = 0;                // the smallest cgroup quota, 0 where there is none
  std::size_t cgroup_memory_bytes = 0;  // the smallest cgroup limit, 0 where there is none
};

/// Where to look. The defaults are this process on this machine; tests give a fake tree.
struct MachineSource {
  std::string root;  // put before /proc/… and /sys/…
  /// Value of an environment variable, or nullptr.
  std::function<const char*(const char*)> environment{};
  /// The CPUs to take in the place of the scheduler's mask, where they are given.
  std::optional<std::set<int>> affinity{};
};

enum class MaskOf : std::uint8_t { kProcess, kThread };

/// The CPUs of the scheduler's mask: of the first thread, or of the one that asks. Empty where it cannot be read.
std::set<int> scheduler_affinity(const MachineSource& source, MaskOf whose);

/// Reads the limits. CPU count = min(scheduler affinity, cpusets, every cgroup v1 and v2 quota from the process's
/// group up to the root), divided by LOCAL_WORLD_SIZE, OMPI_COMM_WORLD_LOCAL_SIZE or SLURM_NTASKS_PER_NODE (the
/// first that is a number >= 1). What cannot be read sets no limit; there is no failure.
MachineLimits machine_limits(const MachineSource& source = {});

/// ns for which the CPUs of source.affinity (of the scheduler's mask, where that is absent) had nothing to do, summed
/// over them since the machine was started; 0 where the machine does not say. From /proc/stat, whose unit is a tick.
std::uint64_t idle_cpu_ns(const MachineSource& source = {});

}  // namespace drapps
