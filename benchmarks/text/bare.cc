// The bare loop of scenario text: what reading, decompressing, parsing and encoding alone take on all cores.
//
//   text_bare '{"files": ["00.jsonl.zst", ...], "tokenizer": "tokenizer.json", "threads": 2}'
//
// 1. Each thread takes the next file, reads it, decompresses it at once, takes "text" out of each line with simdjson,
//    and encodes texts as soon as there are kTexts bytes of them. Their ids are counted and forgotten: nothing is
//    shuffled, packed or handed on, and there is no consumer.
// 2. A command is a line of JSON on standard input, answered by a line on standard output:
//    {"warm": W, "measure": M}     the loop until there are W tokens, then M more by the clock
#include <simdjson.h>
#include <zstd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "benchmarks/program.h"
#include "drapps/base/clock.h"
#include "drapps/text/tokenizer.h"
#include "drapps/text/tokenizer_json.h"

namespace drapps {
namespace {

using bench::fail;
using bench::json;
using bench::must;

constexpr std::size_t kTexts = std::size_t{256} << 10;

void read(const std::string& name, std::string& into) {
  std::ifstream file(name, std::ios::binary | std::ios::ate);
  if (!file) fail("cannot open " + name);
  into.resize(static_cast<std::size_t>(file.tellg()));
  if (!file.seekg(0).read(into.data(), static_cast<std::streamsize>(into.size()))) fail("cannot read " + name);
}

/// Where one thread works.
class Bench {
 public:
  Bench(const text::Tokenizer& tokenizer, std::atomic<std::uint64_t>& tokens, const std::atomic<bool>& stop)
      : tokenizer_(tokenizer), tokens_(tokens), stop_(stop) {}

  void encode_file(const std::string& name) {
    read(name, compressed_);
    const auto size = ZSTD_getFrameContentSize(compressed_.data(), compressed_.size());
    if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN) fail(name + " does not say its size");
    content_.resize(size + simdjson::SIMDJSON_PADDING);
    if (ZSTD_decompress(content_.data(), size, compressed_.data(), compressed_.size()) != size) {
      fail("cannot decompress " + name);
    }
    const std::string_view lines(content_.data(), size);
    for (std::size_t begin = 0; begin < size && !stop_.load(std::memory_order_relaxed);) {
      const std::size_t end = std::min(lines.find('\n', begin), lines.size());
      std::string_view text;
      if (parser_.parse(lines.data() + begin, end - begin, false)["text"].get(text)) fail("no JSON in " + name);
      ends_.push_back(texts_.append(text).size());
      if (texts_.size() >= kTexts) encode();
      begin = end + 1;
    }
    encode();
  }

 private:
  void encode() {
    views_.clear();
    std::size_t begin = 0;
    for (const std::size_t end : ends_) {
      views_.push_back(std::string_view(texts_).substr(begin, end - begin));
      begin = end;
    }
    const auto encoded = must(tokenizer_.encode(views_, 1, {.specials = false}));
    tokens_.fetch_add(encoded.ids.size() + views_.size(), std::memory_order_relaxed);  // and an end of each
    texts_.clear();
    ends_.clear();
  }

  const text::Tokenizer& tokenizer_;
  std::atomic<std::uint64_t>& tokens_;
  const std::atomic<bool>& stop_;
  simdjson::dom::parser parser_;
  std::string compressed_, content_, texts_;
  std::vector<std::size_t> ends_;
  std::vector<std::string_view> views_;
};

class Bare {
 public:
  explicit Bare(const json& spec)
      : files_(spec.at("files")),
        threads_(spec.at("threads")),
        tokenizer_(parts_of(spec.at("tokenizer").get<std::string>())) {
    if (files_.empty()) fail("there are no files");
  }

  json answer(const json& command) {
    const std::uint64_t warm = command.at("warm"), measure = command.at("measure");
    std::atomic<bool> stop{false};
    std::atomic<std::uint64_t> tokens{0}, next{0};
    std::vector<std::jthread> threads;
    threads.reserve(threads_);
    for (std::size_t i = 0; i < threads_; ++i) {
      threads.emplace_back([&] {
        Bench bench(tokenizer_, tokens, stop);
        while (!stop.load(std::memory_order_relaxed)) bench.encode_file(files_[next.fetch_add(1) % files_.size()]);
      });
    }
    const auto more = [&](std::uint64_t wanted) {
      const std::uint64_t from = tokens;
      while (tokens - from < wanted) std::this_thread::sleep_for(std::chrono::microseconds(500));
      return tokens - from;
    };
    more(warm);
    const std::uint64_t wall_before = monotonic_ns(), cpu_before = process_cpu_ns();
    const std::uint64_t samples = more(measure);
    const std::uint64_t wall = monotonic_ns() - wall_before, cpu = process_cpu_ns() - cpu_before;
    stop = true;
    return {{"samples", samples},
            {"seconds", 1e-9 * static_cast<double>(wall)},
            {"cpu_s", 1e-9 * static_cast<double>(cpu)}};
  }

 private:
  static text::TokenizerParts parts_of(const std::string& name) {
    std::string content;
    read(name, content);
    return must(text::parse_tokenizer_json(content));
  }

  const std::vector<std::string> files_;
  const std::size_t threads_;
  const text::Tokenizer tokenizer_;
};

}  // namespace
}  // namespace drapps

int main(int argc, char** argv) { return drapps::bench::serve<drapps::Bare>(argc, argv); }
