#include "drapps/pipeline/fetch.h"

#include <utility>

namespace drapps {

void ask(Sample& sample) noexcept {
  sample.kept.unpin();
  ReadRequest& read = *sample.read;
  read.parts = static_cast<std::uint8_t>(sample.source->parts().size());
  for (RecordPart part = kFirstPart; part < read.parts; ++part) {
    read.at[part] = sample.source->locate(sample.asked.record, part);
  }
}

bool ask_keeper(Sample& sample) noexcept {
  ask(sample);
  return sample.keeper != nullptr && sample.keeper->find(sample.request());
}

void remember(const Sample& sample) noexcept {
  sample.source->remember_bytes(sample.asked.record, sample.read->identity[kFirstPart].size);
}

Status fetch_now(Sample& sample, const std::function<bool()>& stopped) {
  if (ask_keeper(sample)) return ok_status();
  sample.read->waited = true;
  Status status = sample.source->storage().read(*sample.read, {}, stopped);
  if (status.ok()) {
    remember(sample);
    return status;
  }
  Error error = std::move(status).error();
  error.path = sample.source->name(sample.asked.record, sample.read->failed);
  error.index = static_cast<std::int64_t>(sample.asked.record);
  return error;
}

}  // namespace drapps
