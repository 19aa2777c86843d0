// What a loader records of itself: into one file at a time.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "drapps/control/client.h"
#include "drapps/pipeline/sample_log.h"

namespace drapps {

/// Samples of a pass as a trace has them.
trace::SampleBatch sample_batch(const SampleReservoir& samples);

/// Every member may be called from any thread of the process that made it.
class Recording {
 public:
  using Samples = std::function<trace::SampleBatch()>;

  /// Makes the file, which must not exist, and records there from now on. kInvalidArgument where a recording is under
  /// way.
  /// @param client  that decides; null: there is none yet.
  /// @param samples  asked at each decision for some of what was made since the one before; may be empty.
  Status begin(const std::string& path, std::string_view about, Client* client, Samples samples = {});
  /// Records a client that came later too. False where nothing is recorded: then it does nothing.
  bool follow(Client& client, Samples samples = {});
  /// Writes what is left and closes the file; nothing where nothing is recorded. Waits for the file alone.
  /// @param client  in whose log an error is noted; may be null.
  void end(Client* client);

  /// Why the latest one ended before its end(), once; else empty.
  std::string take_warning();

 private:
  std::mutex mutex_;  // guards writer_
  std::shared_ptr<trace::TraceWriter> writer_;
};

}  // namespace drapps
