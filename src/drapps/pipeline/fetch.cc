#include "drapps/pipeline/fetch.h"

#include <utility>

namespace drapps {

void ask(Sample& sample) noexcept {
  sample.unpin();
  sample.parts = static_cast<std::uint8_t>(sample.source->parts().size());
  for (RecordPart part = kFirstPart; part < sample.parts; ++part) {
    sample.at[part] = sample.source->locate(sample.index, part);
  }
}

bool ask_cache(Sample& sample) noexcept {
  ask(sample);
  return sample.cache != nullptr && sample.cache->find(sample);
}

void remember(const Sample& sample) noexcept {
  sample.source->remember_bytes(sample.index, sample.identity[kFirstPart].size);
}

Status fetch_now(Sample& sample, const std::function<bool()>& stopped) {
  if (ask_cache(sample)) return ok_status();
  sample.waited = true;
  Status status = sample.source->storage().read(sample, {}, stopped);
  if (status.ok()) {
    remember(sample);
    return status;
  }
  Error error = std::move(status).error();
  error.path = sample.source->name(sample.index, sample.failed);
  error.index = static_cast<std::int64_t>(sample.index);
  return error;
}

}  // namespace drapps
