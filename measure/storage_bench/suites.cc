#include "measure/storage_bench/suites.h"

namespace tickstack::measure::storage_bench {
namespace {

Suite RandomSuite(const RandomReads& reads) {
  return {
      .title = reads.is_reread ? "RANDOM RE-READ" : "RANDOM READ",
      .drops_cache = !reads.is_reread,
      .make = [reads](const Workspace& workspace) { return RandomReadTests(workspace, reads); }};
}

}  // namespace

std::vector<Suite> AllSuites() {
  std::vector<Suite> suites = {
      {.title = "CPU CACHE", .uses_files = false, .make = CpuCacheTests},
      {.title = "CPU", .uses_files = false, .make = CpuTests},
      {.title = "WRITE", .make = WriteTests},
      {.title = "META DATA", .drops_cache = true, .make = MetaTests},
      {.title = "SEQUENTIAL READ", .drops_cache = true, .make = ReadTests},
      {.title = "SEQUENTIAL RE-READ", .make = RereadTests},
  };
  uint64_t seed = 0;
  for (const bool maps_each : {false, true}) {
    for (const size_t block_bytes : {1'000'000U, 64'000U, 4'000U}) {
      ++seed;
      for (const bool is_reread : {false, true}) {
        suites.push_back(RandomSuite({block_bytes, maps_each, is_reread, seed}));
      }
    }
  }
  suites.push_back({.title = "XASC", .drops_cache = true, .make = SortTests});
  return suites;
}

}  // namespace tickstack::measure::storage_bench
