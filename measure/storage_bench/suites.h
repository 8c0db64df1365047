#pragma once

// The groups of tests, in the order in which nano runs them.

#include <cstdint>
#include <vector>

#include "measure/storage_bench/test.h"

namespace tickstack::measure::storage_bench {

// Tests of processors and memory on vectors of all sizes but huge, in a process's own memory. They
// use the query engine's kernels where these take plain arrays, and the C++ library otherwise.
std::vector<Test> CpuCacheTests(const Workspace& workspace);  // Tiny and small vectors.
std::vector<Test> CpuTests(const Workspace& workspace);       // Medium and large vectors.

// Appends, whole vectors, replaced items, each with its sync. They write the files that the tests
// below read.
std::vector<Test> WriteTests(const Workspace& workspace);

// Latencies of opening, locking, sizing, mapping, appending to and reading small files.
std::vector<Test> MetaTests(const Workspace& workspace);

// Reads whole files through mappings, by read(2), and past the page cache.
std::vector<Test> ReadTests(const Workspace& workspace);
std::vector<Test> RereadTests(const Workspace& workspace);

// One test that reads random blocks of `block_bytes` from several files. With `maps_each`, each
// block's file is mapped and unmapped for that block. The same options read the same blocks.
struct RandomReads {
  size_t block_bytes = 0;
  bool maps_each = false;
  bool is_reread = false;
  uint64_t seed = 0;
};
std::vector<Test> RandomReadTests(const Workspace& workspace, const RandomReads& reads);

// Sorts a table on disk by its symbol column, and adds the attribute `p#` with its index.
std::vector<Test> SortTests(const Workspace& workspace);

// All of the above in order.
std::vector<Suite> AllSuites();

}  // namespace tickstack::measure::storage_bench
