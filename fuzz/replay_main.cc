// Runs a fuzzer's entry point over its corpus without libFuzzer, so that ctest replays it with any
// compiler: NAME FILE_OR_FOLDER... Besides each input it runs cheap variations: the input cut
// short, and with single bytes changed. The input's content is the seed, so a failure can be
// repeated.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using Bytes = std::vector<uint8_t>;

constexpr size_t kMostCuts = 256;
constexpr size_t kChanges = 256;

void Run(const Bytes& input) {
  // An exact copy in memory of its size, so that AddressSanitizer detects reads beyond the end.
  const Bytes exact(input);  // NOLINT(performance-unnecessary-copy-initialization)
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

void RunWithVariations(const Bytes& input) {
  Run(input);
  const size_t step = std::max<size_t>(1, input.size() / kMostCuts);
  for (size_t size = 0; size < input.size(); size += step) {
    Run(Bytes(input.begin(), input.begin() + static_cast<ptrdiff_t>(size)));
  }
  if (input.empty()) return;
  uint64_t seed = 0;
  for (const uint8_t byte : input) seed = seed * 31 + byte;
  std::mt19937_64 random(seed);
  for (size_t i = 0; i < kChanges; ++i) {
    Bytes changed = input;
    changed[random() % changed.size()] = static_cast<uint8_t>(random());
    Run(changed);
  }
}

std::vector<std::filesystem::path> InputsOf(int argc, char** argv) {
  std::vector<std::filesystem::path> inputs;
  for (int i = 1; i < argc; ++i) {
    const std::filesystem::path path = argv[i];
    if (!std::filesystem::is_directory(path)) {
      inputs.push_back(path);
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      if (entry.is_regular_file()) inputs.push_back(entry.path());
    }
  }
  std::sort(inputs.begin(), inputs.end());
  return inputs;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--help") {
    std::printf("%s FILE_OR_FOLDER...\nRuns the fuzz target on each input and variations of it.\n",
                argv[0]);
    return EXIT_SUCCESS;
  }
  const std::vector<std::filesystem::path> inputs = InputsOf(argc, argv);
  for (const std::filesystem::path& path : inputs) {
    std::ifstream file(path, std::ios::binary);
    if (!file) {
      std::fprintf(stderr, "%s: cannot open\n", path.c_str());
      return EXIT_FAILURE;
    }
    RunWithVariations(Bytes(std::istreambuf_iterator<char>(file), {}));
  }
  std::printf("%zu inputs replayed\n", inputs.size());
  if (inputs.empty()) std::fprintf(stderr, "%s: no inputs\n", argv[0]);
  return inputs.empty() ? EXIT_FAILURE : EXIT_SUCCESS;
}
