#include "benchmarks/image_kernels/knowledge.h"

#include "benchmarks/image_kernels/contestant.h"
#include "drapps/decode/jpeg/frame.h"

namespace drapps::bench {

Knowledge::Knowledge(const PhotoSet& photos, Grain grain) : photos_(photos), grain_(grain) { restart(); }

json Knowledge::learn(std::uint32_t epochs) {
  json coverage = json::array();
  const auto records = static_cast<double>(photos_.size());
  const auto reader = indexed(photos_, kernel::active_level(), *this);
  for (std::uint32_t epoch = 0; epoch < epochs; ++epoch) {
    for (const Picture& picture : photos_.epoch(epoch, photos_.size())) reader->decode(picture);
    const jpeg::IndexStatistics known = store_->statistics();
    if (known.refused != 0 || known.records != photos_.size()) fail("a picture has no index");
    coverage.push_back({{"epochs", epoch + 1},
                        {"coverage", known.coverage()},
                        {"complete", static_cast<double>(known.complete) / records},
                        {"bytes_per_image", static_cast<double>(store_->bytes()) / records}});
  }
  learnt_ = store_;
  restart();
  return coverage;
}

void Knowledge::learn_from(const Knowledge& other) {
  learnt_ = other.learnt_;
  restart();
}

void Knowledge::restart() {
  store_ = make_store();
  if (learnt_ == nullptr) return;
  jpeg::IndexKey key;
  jpeg::ScanIndex index;
  for (std::uint64_t record = 0; record < photos_.size(); ++record) {
    key.record = record;
    if (learnt_->copy(record, key, index)) store_->offer(key, index.shape, index.entries);
  }
}

/// The grain follows from the budget, as it does in a loader.
std::shared_ptr<jpeg::MemoryIndexStore> Knowledge::make_store() const {
  constexpr std::size_t kAmple = 64 << 10;  // bytes for each record
  const auto frame = jpeg::read_frame(photos_.file(0));
  if (!frame) fail("the first file is left to libjpeg");
  const auto across = static_cast<std::uint32_t>(frame->mcus_across());
  const auto down = static_cast<std::uint32_t>(frame->mcus_down());
  for (std::size_t budget = photos_.size() * kAmple; budget != 0; budget /= 2) {
    auto store = std::make_shared<jpeg::MemoryIndexStore>(MemoryLedger::unlimited(), photos_.size(), budget);
    if (grain_ == Grain::kFine || store->group(across, down) == across) return store;
  }
  fail("no budget makes a store keep rows");
}

}  // namespace drapps::bench
