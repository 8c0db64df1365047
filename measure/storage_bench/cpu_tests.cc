#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <type_traits>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "base/byte_buffer.h"
#include "base/status.h"
#include "measure/storage_bench/keep.h"
#include "measure/storage_bench/sample_arrays.h"
#include "measure/storage_bench/suites.h"
#include "query/kernels/number_kernels.h"
#include "table/codec.h"
#include "table/lz_stream.h"
#include "table/value.h"

namespace tickstack::measure::storage_bench {
namespace {

// The vectors of one size and type, and the memory for results.
template <typename T>
struct Arrays {
  explicit Arrays(size_t n, const Workspace& of) : workspace(of), size(n) {}

  // Makes the vectors, unless they are there.
  void Make() {
    if (!in.empty()) return;
    if constexpr (std::is_same_v<T, double>) {
      in = SampleFloats(size);
      weights = SampleLongs(size);
    } else {
      in = SampleLongs(size);
    }
    out.resize(size);
    longs.resize(size);
  }

  const Workspace& workspace;
  const size_t size;
  std::vector<T> in, out;
  std::vector<int64_t> weights;
  std::vector<int64_t> longs;  // Results that are longs or row numbers.
  Value value;                 // `in` for the codec; made by the first test that encodes.
  ByteBuffer message;
};

// Calls f(begin, end) for parts of the vector, on several threads if the workspace has them.
template <typename T, typename F>
void Split(const Arrays<T>& a, F f) {
  InParallel(a.workspace, a.size, kItemsPerThread, f);
}

// Sets out[i] = f(in[i]).
template <typename T, typename Out, typename F>
void MapItems(Arrays<T>& a, std::vector<Out>& out, F f) {
  Split(a, [&](size_t begin, size_t end) {
    const T* const in = a.in.data();
    Out* const to = out.data();
    for (size_t i = begin; i < end; ++i) to[i] = f(in[i]);
  });
  Keep(out[0]);
}

template <typename T>
T FloorDivide(T x, T y) {
  if constexpr (std::is_same_v<T, double>) {
    return std::floor(x / y);
  } else {
    const T quotient = x / y;
    return quotient - static_cast<T>((x % y != 0) & ((x < 0) != (y < 0)));
  }
}

template <typename T>
void Max(Arrays<T>& a) {
  Split(a, [&](size_t begin, size_t end) {
    Keep(query::Kernels<T>().max(a.in.data() + begin, end - begin,
                                 std::numeric_limits<T>::lowest()));
  });
}

// The loop that Max is compared with.
template <typename T>
void MaxLoop(Arrays<T>& a) {
  Split(a, [&](size_t begin, size_t end) {
    const T* const in = a.in.data();
    T most = std::numeric_limits<T>::lowest();
    for (size_t i = begin; i < end; ++i) most = std::max(most, in[i]);
    Keep(most);
  });
}

template <typename T>
void Median(Arrays<T>& a) {
  std::ranges::copy(a.in, a.out.begin());
  const auto middle = a.out.begin() + static_cast<ptrdiff_t>(a.size / 2);
  std::nth_element(a.out.begin(), middle, a.out.end());
  // The median of an even number of items is the mean of two: this one and the largest before it.
  Keep(*middle + *std::max_element(a.out.begin(), middle));
}

// Sums f(item) with four sums at a time, so that the additions do not wait for one another.
template <typename T, typename F>
double SumOf(const std::vector<T>& items, F f) {
  std::array<double, 4> sums{};
  const size_t whole = items.size() / 4 * 4;
  for (size_t i = 0; i < whole; i += 4) {
    for (size_t lane = 0; lane < 4; ++lane) sums[lane] += f(items[i + lane]);
  }
  for (size_t i = whole; i < items.size(); ++i) sums[0] += f(items[i]);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

template <typename T>
void SampleDeviation(Arrays<T>& a) {
  const double mean =
      SumOf(a.in, [](T x) { return static_cast<double>(x); }) / static_cast<double>(a.size);
  const double squares = SumOf(a.in, [mean](T x) {
    const double difference = static_cast<double>(x) - mean;
    return difference * difference;
  });
  Keep(std::sqrt(squares / static_cast<double>(a.size - 1)));
}

template <typename T>
void Permute(Arrays<T>& a) {
  std::ranges::copy(a.in, a.out.begin());
  FastRandom random(1);
  for (size_t i = a.size; i > 1; --i) std::swap(a.out[i - 1], a.out[random.Below(i)]);
  Keep(a.out[0]);
}

template <typename T>
void Sort(Arrays<T>& a) {
  std::ranges::copy(a.in, a.out.begin());
  std::ranges::sort(a.out);
  Keep(a.out[0]);
}

template <typename T>
void Deltas(Arrays<T>& a) {
  a.out[0] = a.in[0];
  Split(a, [&](size_t begin, size_t end) {
    const T* const in = a.in.data();
    T* const out = a.out.data();
    for (size_t i = std::max<size_t>(1, begin); i < end; ++i) out[i] = in[i] - in[i - 1];
  });
  Keep(a.out[a.size - 1]);
}

void WhereMultiple(Arrays<int64_t>& a) {
  size_t found = 0;
  for (size_t i = 0; i < a.size; ++i) {
    a.longs[found] = static_cast<int64_t>(i);
    found += a.in[i] % 7 == 0 ? 1 : 0;
  }
  Keep(found);
}

void Til(Arrays<int64_t>& a) {
  Split(a, [&](size_t begin, size_t end) {
    int64_t* const out = a.out.data();
    for (size_t i = begin; i < end; ++i) out[i] = static_cast<int64_t>(i);
  });
  Keep(a.out[0]);
}

template <typename T>
void Roll(Arrays<T>& a) {
  FastRandom random(1);
  for (T& item : a.out) item = static_cast<T>(random.Below(100));
  Keep(a.out[0]);
}

template <typename T>
void Bar(Arrays<T>& a) {
  MapItems(a, a.out, [](T x) { return T{117} * FloorDivide(x, T{117}); });
}

template <typename T>
void Multiply(Arrays<T>& a) {
  MapItems(a, a.out, [](T x) { return x * T{100}; });
}

template <typename T>
void Divide(Arrays<T>& a) {
  MapItems(a, a.longs, [](T x) { return static_cast<int64_t>(FloorDivide(x, T{11})); });
}

template <typename T>
void MovingAverage(Arrays<T>& a) {
  constexpr size_t kWindow = 100;
  double sum = 0;
  for (size_t i = 0; i < a.size; ++i) {
    sum += static_cast<double>(a.in[i]);
    if (i >= kWindow) sum -= static_cast<double>(a.in[i - kWindow]);
    // A mean is a float also of longs.
    a.out[i] = std::bit_cast<T>(sum / static_cast<double>(std::min(kWindow, i + 1)));
  }
  Keep(a.out[a.size - 1]);
}

// Lists the rows of each distinct item: first numbers the items, then sorts rows by these numbers.
template <typename T>
void Group(Arrays<T>& a) {
  absl::flat_hash_map<T, uint32_t> numbers;
  std::vector<uint32_t> of_row(a.size), begin(1);
  for (size_t i = 0; i < a.size; ++i) {
    const auto [entry, added] = numbers.try_emplace(a.in[i], static_cast<uint32_t>(numbers.size()));
    if (added) begin.push_back(0);
    of_row[i] = entry->second;
    ++begin[entry->second + 1];
  }
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  for (size_t i = 0; i < a.size; ++i) a.longs[begin[of_row[i]]++] = static_cast<int64_t>(i);
  Keep(a.longs[0]);
}

template <typename T>
void Encoded(Arrays<T>& a) {
  constexpr Type kType = std::is_same_v<T, double> ? Type::kFloat : Type::kLong;
  if (a.value.count() != a.size) a.value = Value::Vector(kType, std::span<const T>(a.in));
  a.message.clear();
  a.message.AppendLittle(uint64_t{1});  // In place of a message's header.
  Encode(a.value, a.message);
}

template <typename T>
void EncodeAndDecode(Arrays<T>& a) {
  Encoded(a);
  const absl::StatusOr<Value> decoded =
      Decode(std::span<const std::byte>(a.message.span()).subspan(kLzHeaderBytes));
  Keep(decoded.ok());
}

template <typename T>
void Compress(Arrays<T>& a) {
  Encoded(a);
  ByteBuffer compressed;
  Keep(AppendLzStream(a.message.span(), a.message.size() / 2, compressed));
}

void Reciprocal(Arrays<double>& a) {
  MapItems(a, a.out, [](double x) { return 1 / x; });
}

void Ceiling(Arrays<double>& a) {
  MapItems(a, a.longs, [](double x) { return static_cast<int64_t>(std::ceil(x)); });
}

void WeightedAverage(Arrays<double>& a) {
  std::array<double, 2> sums{};
  for (size_t i = 0; i < a.size; ++i) {
    const auto weight = static_cast<double>(a.weights[i]);
    sums[0] += weight * a.in[i];
    sums[1] += weight;
  }
  Keep(sums[0] / sums[1]);
}

// The bytes that an operation uses in memory, as nano's `testtype` says it.
constexpr const char* kRead = "read";
constexpr const char* kWrite = "write";
constexpr const char* kReadWrite = "read write";

template <typename T>
struct Operation {
  const char* id;          // "max", of ".cpu.maxIntLarge"
  const char* word;        // "max", of "max int large"
  const char* expression;  // What nano evaluates; "" for a loop to compare with.
  const char* access;
  std::array<uint32_t, 4> repeats;  // For tiny, small, medium and large vectors; 0: no such test.
  void (*run)(Arrays<T>& arrays);
  uint64_t vectors = 1;  // Number of vectors that the throughput counts.
};

// Repeats are those of nano, whose floats have large vectors only.
constexpr auto kLongOperations = std::to_array<Operation<int64_t>>({
    {"max", "max", "max", kRead, {2'000'000, 100'000, 10'000, 50}, Max<int64_t>},
    {"maxLoop", "max", "", kRead, {2'000'000, 100'000, 10'000, 50}, MaxLoop<int64_t>},
    {"med", "med", "med", kRead, {200'000, 10'000, 1'000, 1}, Median<int64_t>},
    {"sdev", "sdev", "sdev", kRead, {500'000, 10'000, 1'000, 10}, SampleDeviation<int64_t>},
    {"permute", "permute", "0N?", kReadWrite, {100'000, 5'000, 500, 1}, Permute<int64_t>},
    {"sort", "sort", "asc", kReadWrite, {100'000, 5'000, 500, 1}, Sort<int64_t>},
    {"deltas", "deltas", "deltas", kReadWrite, {1'000'000, 20'000, 1'000, 10}, Deltas<int64_t>},
    {"modWhere", "where mod =", "where mod =", kReadWrite, {100'000, 5'000, 500, 2}, WhereMultiple},
    {"til", "til", "til", kWrite, {1'000'000, 50'000, 5'000, 100}, Til},
    {"rand", "roll", "?", kWrite, {100'000, 5'000, 500, 10}, Roll<int64_t>},
    {"xbar", "xbar", "xbar", kReadWrite, {200'000, 10'000, 1'000, 10}, Bar<int64_t>},
    {"multiply", "mult", "*", kReadWrite, {2'000'000, 50'000, 5'000, 50}, Multiply<int64_t>},
    {"divide", "div", "div", kReadWrite, {200'000, 10'000, 1'000, 10}, Divide<int64_t>},
    {"mavg", "mavg", "mavg", kReadWrite, {100'000, 5'000, 500, 1}, MovingAverage<int64_t>},
    {"group", "group", "group", kReadWrite, {100'000, 5'000, 500, 1}, Group<int64_t>},
    {"serialize",
     "-9!-8!",
     "-9!-8!",
     kReadWrite,
     {1'000'000, 20'000, 2'000, 50},
     EncodeAndDecode<int64_t>},
    {"compress", "-18!", "-18!", kReadWrite, {200'000, 5'000, 500, 5}, Compress<int64_t>},
});

constexpr auto kFloatOperations = std::to_array<Operation<double>>({
    {"max", "max", "max", kRead, {0, 0, 0, 50}, Max<double>},
    {"maxLoop", "max", "", kRead, {0, 0, 0, 50}, MaxLoop<double>},
    {"med", "med", "med", kRead, {0, 0, 0, 1}, Median<double>},
    {"sdev", "sdev", "sdev", kRead, {0, 0, 0, 10}, SampleDeviation<double>},
    {"permute", "permute", "0N?", kReadWrite, {0, 0, 0, 1}, Permute<double>},
    {"sort", "sort", "asc", kReadWrite, {0, 0, 0, 1}, Sort<double>},
    {"deltas", "deltas", "deltas", kReadWrite, {0, 0, 0, 5}, Deltas<double>},
    {"rand", "roll", "?", kWrite, {0, 0, 0, 10}, Roll<double>},
    {"xbar", "xbar", "xbar", kReadWrite, {0, 0, 0, 10}, Bar<double>},
    {"multiply", "mult", "*", kReadWrite, {0, 0, 0, 50}, Multiply<double>},
    {"divide", "div", "div", kReadWrite, {0, 0, 0, 10}, Divide<double>},
    {"mavg", "mavg", "mavg", kReadWrite, {0, 0, 0, 1}, MovingAverage<double>},
    {"group", "group", "group", kReadWrite, {0, 0, 0, 1}, Group<double>},
    {"serialize", "-9!-8!", "-9!-8!", kReadWrite, {0, 0, 0, 50}, EncodeAndDecode<double>},
    {"compress", "-18!", "-18!", kReadWrite, {0, 0, 0, 5}, Compress<double>},
    {"reciprocal", "reciprocal", "reciprocal", kReadWrite, {0, 0, 0, 50}, Reciprocal},
    {"ceiling", "ceiling", "ceiling", kReadWrite, {0, 0, 0, 20}, Ceiling},
    {"wavg", "wavg", "wavg", kReadWrite, {0, 0, 0, 20}, WeightedAverage, 2},
});

constexpr std::array<const char*, 4> kSizeWords = {"tiny", "small", "medium", "large"};
constexpr std::array<const char*, 4> kSizeIds = {"Tiny", "Small", "Medium", "Large"};

template <typename T>
Test CpuTest(const std::shared_ptr<Arrays<T>>& arrays, const Operation<T>& operation, size_t size) {
  constexpr bool kIsFloat = std::is_same_v<T, double>;
  const bool in_cache = size < 2;
  const std::string type =
      std::string("cpu ") + operation.access + (in_cache ? " cpu cache" : " mem");
  const std::string id = std::string(in_cache ? ".cpucache." : ".cpu.") + operation.id +
                         (kIsFloat ? "Float" : "Int") + kSizeIds[size];
  const std::string name = std::string(operation.word) + (kIsFloat ? " float " : " int ") +
                           kSizeWords[size] + (*operation.expression == '\0' ? ", C loop" : "");
  return {.name = {type, id, name, operation.expression},
          .run = [=]() -> absl::StatusOr<Work> {
            TS_ASSIGN_OR_RETURN(const uint64_t done,
                                Repeat(arrays->workspace, operation.repeats[size], [&] {
                                  operation.run(*arrays);
                                  return absl::OkStatus();
                                }));
            return Work{done, static_cast<int64_t>(arrays->size),
                        done * operation.vectors * arrays->size * sizeof(T)};
          },
          .prepare = [=]() -> absl::StatusOr<Pages> {
            arrays->Make();
            return Pages{};
          }};
}

// Adds the tests of one vector, which is freed with the last of them.
template <typename T, size_t kOperations>
void AddVector(std::vector<Test>& tests, const Workspace& workspace,
               const std::array<Operation<T>, kOperations>& operations, size_t items, size_t size) {
  const auto arrays = std::make_shared<Arrays<T>>(items, workspace);
  for (const Operation<T>& operation : operations) {
    if (operation.repeats[size] > 0) tests.push_back(CpuTest(arrays, operation, size));
  }
  tests.back().finish = [arrays] {
    arrays->in = {};
    arrays->out = {};
    arrays->longs = arrays->weights = {};
    arrays->value = Value();
    arrays->message = ByteBuffer();
    return absl::OkStatus();
  };
}

}  // namespace

std::vector<Test> CpuCacheTests(const Workspace& workspace) {
  std::vector<Test> tests;
  AddVector(tests, workspace, kLongOperations, workspace.sizes.tiny, 0);
  AddVector(tests, workspace, kLongOperations, workspace.sizes.small, 1);
  return tests;
}

std::vector<Test> CpuTests(const Workspace& workspace) {
  std::vector<Test> tests;
  AddVector(tests, workspace, kLongOperations, workspace.sizes.medium, 2);
  AddVector(tests, workspace, kLongOperations, workspace.sizes.large, 3);
  AddVector(tests, workspace, kFloatOperations, workspace.sizes.large, 3);
  return tests;
}

}  // namespace tickstack::measure::storage_bench
