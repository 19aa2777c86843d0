// What the C++ programs of benchmarks have in common. They are told what to do in JSON, and whatever fails ends them
// with a message.
#pragma once

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "drapps/base/result.h"

namespace drapps::bench {

using json = nlohmann::ordered_json;
using File = std::vector<std::uint8_t>;

[[noreturn]] inline void fail(const std::string& message) {
  std::cerr << program_invocation_short_name << ": " << message << '\n';
  std::exit(1);
}

inline void must(const Status& status) {
  if (!status.ok()) fail(status.error().message);
}

template <class T>
T must(Result<T> result) {
  if (!result.ok()) fail(result.error().message);
  return std::move(result).value();
}

/// The files that `list` names, one a line; at least one.
inline std::vector<File> read_all(const std::string& list) {
  std::vector<File> files;
  std::ifstream names(list);
  for (std::string name; std::getline(names, name);) {
    std::ifstream file(name, std::ios::binary | std::ios::ate);
    File& bytes = files.emplace_back(file ? static_cast<std::size_t>(file.tellg()) : 0);
    file.seekg(0).read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    if (!file) fail("cannot read " + name);
  }
  if (files.empty()) fail(list + " names no files");
  return files;
}

/// All that main() does: makes a Program(spec) of the only argument, says so with a first line, {}, and gives each line
/// of standard input, a command, to Program::answer(), whose answer is a line of standard output.
template <class Program>
int serve(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: " << program_invocation_short_name << " SPEC, in JSON, as its source describes it\n";
    return 2;
  }
  try {
    Program program(json::parse(argv[1]));
    std::cout << "{}\n" << std::flush;
    for (std::string line; std::getline(std::cin, line);) {
      std::cout << program.answer(json::parse(line)).dump() << '\n' << std::flush;
    }
    return 0;
  } catch (const json::exception& error) {
    std::cerr << program_invocation_short_name << ": " << error.what() << '\n';
    return 2;
  }
}

}  // namespace drapps::bench
