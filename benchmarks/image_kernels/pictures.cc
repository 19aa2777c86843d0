#include "benchmarks/image_kernels/pictures.h"

#include <algorithm>
#include <string>

#include "drapps/decode/jpeg/coefficients.h"
#include "drapps/source/sampler.h"

namespace drapps::bench {

PhotoSet::PhotoSet(const json& spec) : files_(read_all(spec.at("files"))), seed_(spec.at("seed")) {
  crop_.height = crop_.width = spec.at("crop");
  if (!parse(spec.at("pass_order").get<std::string>(), crop_.pass_order)) fail("unknown pass order");
  jpeg::Transcoder transcoder(MemoryLedger::unlimited());
  File form;
  for (const File& file : files_) {
    must(transcoder.transcode(file, form));
    coefficients_.emplace_back(form.begin(), form.end());
  }
}

std::vector<Picture> PhotoSet::epoch(std::uint32_t number, std::uint64_t count) const {
  const Sampler sampler = must(Sampler::make({.size = size(), .shuffle = true, .seed = seed_}, number));
  std::vector<Picture> pictures(std::min(count, size()));
  for (std::uint64_t n = 0; n < pictures.size(); ++n) {
    const Sampler::Row row = sampler.row(n, 0);
    pictures[n] = {row.index, sampler.coordinate(row.position)};
  }
  return pictures;
}

}  // namespace drapps::bench
