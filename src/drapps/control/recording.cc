#include "drapps/control/recording.h"

#include <utility>

namespace drapps {

trace::SampleBatch sample_batch(const SampleReservoir& samples) {
  trace::SampleBatch batch{.seen = samples.added(), .samples = {}};
  for (const SampleTimes& sample : samples.kept()) {
    batch.samples.push_back({.index = sample.record,
                             .position = sample.position,
                             .bytes = sample.bytes,
                             .known = sample.known,
                             .cpu_ns = sample.cpu_ns,
                             .wall_ns = sample.wall_ns});
  }
  return batch;
}

Status Recording::begin(const std::string& path, std::string_view about, Client* client, Samples samples) {
  const std::lock_guard lock(mutex_);
  if (writer_ != nullptr && !writer_->ended()) {
    return invalid("this loader is recorded into " + writer_->path() + " already; stop that recording first");
  }
  auto opened = trace::TraceWriter::open(path, about);
  if (!opened.ok()) return std::move(opened).error();
  writer_ = *std::move(opened);
  if (client != nullptr) client->record(writer_, std::move(samples));
  return ok_status();
}

bool Recording::follow(Client& client, Samples samples) {
  const std::lock_guard lock(mutex_);
  if (writer_ == nullptr || writer_->ended()) return false;
  client.record(writer_, std::move(samples));
  return true;
}

void Recording::end(Client* client) {
  const auto writer = [&] {
    const std::lock_guard lock(mutex_);
    return writer_;
  }();
  if (writer == nullptr) return;
  const Status closed = writer->close();
  if (!closed.ok() && client != nullptr) client->remark("the recording has ended: " + closed.error().to_string(), {});
}

std::string Recording::take_warning() {
  const std::lock_guard lock(mutex_);
  return writer_ == nullptr ? std::string() : writer_->take_warning();
}

}  // namespace drapps
