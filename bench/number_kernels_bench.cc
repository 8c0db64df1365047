// Measures the kernels of query/kernels/number_kernels.h, each version that the machine supports:
// Select<double>/AVX3/8192 is 8,192 doubles, which are in a cache, and 4194304 ones come from
// memory. `Select` writes the numbers of the items that pass, here every second one at random; of
// `SelectFew`, one in 50 passes.
//
// Estimate. A load and one to three instructions per vector, so items of 8 bytes cost a quarter of
// a cycle in 512 bits if they are cached. `Select` adds one compress per vector of row numbers.
// Beyond the caches, the bandwidth of one core bounds all of them: ReadMemory of codec_bench.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <new>
#include <random>
#include <string>
#include <vector>

#include "base/check.h"
#include "query/kernels/number_kernels.h"

namespace tickstack::query {
namespace {

constexpr int64_t kCached = 8'192;
constexpr int64_t kLarge = int64_t{4} << 20;

// Allocates at whole cache lines, as columns do. A vector across two lines takes up to half as long
// again, and malloc's blocks are at any multiple of 16.
template <typename T>
struct AlignedAllocator {
  using value_type = T;
  AlignedAllocator() = default;
  template <typename U>
  AlignedAllocator(const AlignedAllocator<U>&) {}  // NOLINT(google-explicit-constructor)
  T* allocate(size_t n) {
    return static_cast<T*>(::operator new(n * sizeof(T), std::align_val_t{64}));
  }
  void deallocate(T* items, size_t) { ::operator delete(items, std::align_val_t{64}); }
  friend bool operator==(const AlignedAllocator&, const AlignedAllocator&) { return true; }
};

template <typename T>
using AlignedVector = std::vector<T, AlignedAllocator<T>>;

// Returns items from 0 to 99, of which one in 16 is null.
template <typename T>
AlignedVector<T> Items(size_t n) {
  std::mt19937_64 rng(1);
  AlignedVector<T> items(n);
  for (T& item : items) {
    item = static_cast<T>(rng() % 100);
    if (rng() % 16 != 0 || std::is_unsigned_v<T>) continue;
    item = std::is_floating_point_v<T> ? std::numeric_limits<T>::quiet_NaN()
                                       : std::numeric_limits<T>::min();
  }
  return items;
}

// Calls `step` with the items until the time is over.
template <typename T>
void Run(benchmark::State& state, const std::function<void(const AlignedVector<T>&)>& step) {
  const AlignedVector<T> items = Items<T>(static_cast<size_t>(state.range(0)));
  for (auto _ : state) {
    step(items);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0) * static_cast<int64_t>(sizeof(T)));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

template <typename T>
void Register(const std::string& type) {
  for (const KernelVersion<T>& version : KernelVersions<T>()) {
    const NumberKernels<T>& kernels = *version.kernels;
    const auto add = [&](const std::string& name,
                         std::function<void(const AlignedVector<T>&)> step) {
      const std::string full = name + "<" + type + ">/" + version.name;
      benchmark::RegisterBenchmark(full.c_str(),
                                   [step](benchmark::State& state) { Run<T>(state, step); })
          ->Arg(kCached)
          ->Arg(kLarge);
    };
    add("Max", [&kernels](const AlignedVector<T>& items) {
      TS_CHECK(kernels.max(items.data(), items.size(), T{0}) == T{99});
    });
    add("Min", [&kernels](const AlignedVector<T>& items) {
      TS_CHECK(kernels.min(items.data(), items.size(), T{99}) == T{0});
    });
    add("Add", [&kernels](const AlignedVector<T>& items) {
      Totals<T> totals;
      kernels.add(items.data(), items.size(), totals);
      benchmark::DoNotOptimize(totals);
    });
    add("AddAsFloats", [&kernels](const AlignedVector<T>& items) {
      Totals<T> totals;
      kernels.add_as_floats(items.data(), items.size(), totals);
      benchmark::DoNotOptimize(totals);
    });
    add("Lead", [&kernels](const AlignedVector<T>& items) {
      const Interval<T> all = {std::numeric_limits<T>::lowest(), T{100}, true};
      TS_CHECK(kernels.lead(items.data(), items.size(), all) == items.size());
    });
    const auto select = [&kernels](const AlignedVector<T>& items, T hi) {
      static AlignedVector<uint32_t> rows(kLarge + kSelectSlack);
      const Interval<T> interval = {T{0}, hi};
      TS_CHECK(kernels.select(items.data(), items.size(), interval, 0, rows.data()) > 0);
    };
    add("Select", [select](const AlignedVector<T>& items) { select(items, T{49}); });
    add("SelectFew", [select](const AlignedVector<T>& items) { select(items, T{1}); });
  }
}

}  // namespace
}  // namespace tickstack::query

int main(int argc, char** argv) {
  using tickstack::query::Register;
  Register<uint8_t>("uint8");
  Register<int16_t>("int16");
  Register<int32_t>("int32");
  Register<int64_t>("int64");
  Register<float>("float");
  Register<double>("double");
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
}
