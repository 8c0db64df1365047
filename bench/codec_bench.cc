// Measures decoding: an upd of the quote table (at least 48 bytes per row) into columns, and the
// bound.
//
// Estimate. Only names are examined; every other column is a span. So decoding costs one pass over
// the names (ReadNames; its bound is ReadMemory, the bandwidth of one core) plus some ten ns per
// column, and its "bytes/s" over the whole message may exceed the memory's. Taking the rows
// (DecodeAndCopyQuotes) costs a read and a write of every byte, bounded by CopyMemory.
//
// Messages come from a pool that exceeds a core's own caches, so each one is cold when it is
// decoded.

#include <benchmark/benchmark.h>

#include <array>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "table/name_scan.h"
#include "table/schema.h"
#include "wire/codec.h"
#include "wire/compress.h"
#include "wire/upd.h"

namespace tickstack::wire {
namespace {

constexpr size_t kPoolBytes = size_t{64} << 20;
constexpr size_t kSymbols = 8'000;

// Returns a ticker: one to five capital letters.
std::string Ticker(std::mt19937_64& rng) {
  std::string name;
  for (uint64_t n = 1 + rng() % 5; n > 0; --n) name += static_cast<char>('A' + rng() % 26);
  return name;
}

const std::vector<std::string>& Tickers() {
  static const std::vector<std::string> tickers = [] {
    std::mt19937_64 rng(1);
    std::vector<std::string> made;
    for (size_t i = 0; i < kSymbols; ++i) made.push_back(Ticker(rng));
    return made;
  }();
  return tickers;
}

const Schema& QuoteSchema() {
  static const Schema quote = DefaultSchemas()[1];
  return quote;
}

Value RandomColumn(Type type, size_t rows, std::mt19937_64& rng) {
  if (type == Type::kSymbol) {
    SymbolVector names;
    for (size_t i = 0; i < rows; ++i) names.push_back(Tickers()[rng() % kSymbols]);
    return Value::Symbols(std::move(names));
  }
  ByteBuffer elements;
  for (size_t i = 0; i < rows * WidthOf(type); ++i) {
    elements.AppendLittle(static_cast<uint8_t>(rng()));
  }
  return Value::Vector(type, std::move(elements));
}

Value QuoteColumns(size_t rows, std::mt19937_64& rng) {
  std::vector<Value> columns;
  for (const ColumnSpec& column : QuoteSchema().columns) {
    columns.push_back(RandomColumn(column.type, rows, rng));
  }
  return Value::List(std::move(columns));
}

ByteBuffer QuoteUpd(size_t rows, std::mt19937_64& rng) {
  ByteBuffer body;
  Encode(Value::List({Value::Symbol("upd"), Value::Symbol("quote"), QuoteColumns(rows, rng)}),
         body);
  return body;
}

// Returns one row as atoms.
ByteBuffer QuoteRowUpd(std::mt19937_64& rng) {
  std::vector<Value> atoms;
  for (const ColumnSpec& column : QuoteSchema().columns) {
    const Value one = RandomColumn(column.type, 1, rng);
    atoms.push_back(one.is(Type::kSymbol) ? Value::Symbol(one.symbols()[0])
                                          : Value::AtomFromBytes(one.type(), one.elements()));
  }
  ByteBuffer body;
  Encode(Value::List({Value::Symbol("upd"), Value::Symbol("quote"), Value::List(std::move(atoms))}),
         body);
  return body;
}

// Message bodies of similar size, used in turn.
class Pool {
 public:
  template <typename Make>
  explicit Pool(Make make) {
    std::mt19937_64 rng(7);
    size_t bytes = 0;
    while (bytes < kPoolBytes && bodies_.size() < 200'000) {
      bodies_.push_back(make(rng));
      bytes += bodies_.back().size();
    }
  }
  const ByteBuffer& Next() {
    next_ = next_ + 1 == bodies_.size() ? 0 : next_ + 1;
    return bodies_[next_];
  }

 private:
  std::vector<ByteBuffer> bodies_;
  size_t next_ = 0;
};

struct Counts {
  size_t bytes = 0;
  size_t rows = 0;
};
void Report(benchmark::State& state, const Counts& counts) {
  state.SetBytesProcessed(static_cast<int64_t>(counts.bytes));
  if (counts.rows > 0) {
    state.counters["rows/s"] =
        benchmark::Counter(static_cast<double>(counts.rows), benchmark::Counter::kIsRate);
  }
}

void DecodeQuotes(benchmark::State& state) {
  const auto rows = static_cast<size_t>(state.range(0));
  Pool pool([rows](std::mt19937_64& rng) { return QuoteUpd(rows, rng); });
  UpdDecoder decoder;
  UpdView upd;
  Counts counts;
  for (auto _ : state) {
    const ByteBuffer& body = pool.Next();
    TS_CHECK(decoder.Decode(body, &upd).ok() && upd.batch.rows == rows);
    benchmark::DoNotOptimize(upd.batch.columns.data());
    counts.bytes += body.size();
    counts.rows += rows;
  }
  Report(state, counts);
}
BENCHMARK(DecodeQuotes)->Arg(1)->Arg(24)->Arg(240)->Arg(2'400)->Arg(24'000);

void DecodeQuoteAtoms(benchmark::State& state) {
  Pool pool(QuoteRowUpd);
  UpdDecoder decoder;
  UpdView upd;
  Counts counts;
  for (auto _ : state) {
    const ByteBuffer& body = pool.Next();
    TS_CHECK(decoder.Decode(body, &upd).ok() && upd.batch.rows == 1);
    benchmark::DoNotOptimize(upd.batch.columns.data());
    counts.bytes += body.size();
    counts.rows += 1;
  }
  Report(state, counts);
}
BENCHMARK(DecodeQuoteAtoms);

void DecodeAndCopyQuotes(benchmark::State& state) {
  const auto rows = static_cast<size_t>(state.range(0));
  Pool pool([rows](std::mt19937_64& rng) { return QuoteUpd(rows, rng); });
  UpdDecoder decoder;
  UpdView upd;
  ByteBuffer columns;
  Counts counts;
  for (auto _ : state) {
    const ByteBuffer& body = pool.Next();
    TS_CHECK(decoder.Decode(body, &upd).ok() && upd.batch.rows == rows);
    if (columns.size() > kPoolBytes) columns.clear();
    for (const ColumnView& column : upd.batch.columns) columns.Append(column.data);
    benchmark::ClobberMemory();
    counts.bytes += body.size();
    counts.rows += rows;
  }
  Report(state, counts);
}
BENCHMARK(DecodeAndCopyQuotes)->Arg(2'400);

void SizeQuotes(benchmark::State& state) {
  Pool pool([](std::mt19937_64& rng) { return QuoteUpd(2'400, rng); });
  Counts counts;
  for (auto _ : state) {
    const ByteBuffer& body = pool.Next();
    const absl::StatusOr<std::optional<size_t>> bytes = ValueBytes(body);
    TS_CHECK(bytes.ok() && **bytes == body.size());
    counts.bytes += body.size();
    counts.rows += 2'400;
  }
  Report(state, counts);
}
BENCHMARK(SizeQuotes);

void ReadNames(benchmark::State& state) {
  std::mt19937_64 rng(3);
  const auto bytes = static_cast<size_t>(state.range(0));
  std::string names;
  size_t count = 0;
  for (; names.size() < bytes; ++count) {
    names += Tickers()[rng() % kSymbols];
    names += '\0';
  }
  Counts counts;
  for (auto _ : state) {
    TS_CHECK(BytesOfNames(AsBytes(names), count) == names.size());
    counts.bytes += names.size();
    counts.rows += count;
  }
  Report(state, counts);
}
BENCHMARK(ReadNames)->Arg(10'000)->Arg(kPoolBytes);

void RoundTripQuotes(benchmark::State& state) {
  std::mt19937_64 rng(5);
  ByteBuffer x;
  Encode(RandomColumn(Type::kFloat, 100'000, rng), x);
  std::swap(x.data()[2], x.data()[5]);
  std::swap(x.data()[3], x.data()[4]);
  Counts counts;
  for (auto _ : state) {
    TS_CHECK(ToLittleEndian(x.span()).ok());
    std::swap(x.data()[2], x.data()[5]);  // The count is big-endian again.
    std::swap(x.data()[3], x.data()[4]);
    counts.bytes += x.size();
    counts.rows += 100'000;
  }
  Report(state, counts);
}
BENCHMARK(RoundTripQuotes);

void EncodeQuotes(benchmark::State& state) {
  std::mt19937_64 rng(5);
  const Value x = QuoteColumns(2'400, rng);
  ByteBuffer out;
  Counts counts;
  for (auto _ : state) {
    out.clear();
    Encode(x, out);
    benchmark::ClobberMemory();
    counts.bytes += out.size();
    counts.rows += 2'400;
  }
  Report(state, counts);
}
BENCHMARK(EncodeQuotes);

// Rows of one symbol and a slow clock, which compress well.
ByteBuffer CompressibleMessage() {
  std::vector<int64_t> times(10'000);
  std::iota(times.begin(), times.end(), 636'000'000'000'000'000);
  SymbolVector names;
  for (size_t i = 0; i < times.size(); ++i) names.push_back("AIG");
  return EncodeMessage(
      MessageKind::kAsync,
      Value::List({Value::Vector(Type::kTimestamp, std::span<const int64_t>(times)),
                   Value::Symbols(std::move(names))}));
}

void CompressMessage(benchmark::State& state) {
  const ByteBuffer message = CompressibleMessage();
  Counts counts;
  for (auto _ : state) {
    TS_CHECK(Compress(message).has_value());
    counts.bytes += message.size();
  }
  Report(state, counts);
}
BENCHMARK(CompressMessage);

void DecompressMessage(benchmark::State& state) {
  const ByteBuffer message = CompressibleMessage();
  const std::optional<ByteBuffer> compressed = Compress(message);
  TS_CHECK(compressed.has_value());
  Counts counts;
  for (auto _ : state) {
    const absl::StatusOr<ByteBuffer> plain = Decompress(*compressed, message.size());
    TS_CHECK(plain.ok() && plain->size() == message.size());
    counts.bytes += message.size();
  }
  Report(state, counts);
}
BENCHMARK(DecompressMessage);

// The bounds.

void ReadMemory(benchmark::State& state) {
  std::vector<uint64_t> words(kPoolBytes / sizeof(uint64_t), 1);
  Counts counts;
  for (auto _ : state) {
    std::array<uint64_t, 8> sums{};
    for (size_t i = 0; i < words.size(); i += sums.size()) {
      for (size_t lane = 0; lane < sums.size(); ++lane) sums[lane] += words[i + lane];
    }
    TS_CHECK(std::accumulate(sums.begin(), sums.end(), uint64_t{0}) == words.size());
    counts.bytes += kPoolBytes;
  }
  Report(state, counts);
}
BENCHMARK(ReadMemory);

void CopyMemory(benchmark::State& state) {
  std::vector<std::byte> from(kPoolBytes, std::byte{1}), to(kPoolBytes);
  Counts counts;
  for (auto _ : state) {
    std::memcpy(to.data(), from.data(), from.size());
    benchmark::ClobberMemory();
    counts.bytes += kPoolBytes;
  }
  Report(state, counts);
}
BENCHMARK(CopyMemory);

}  // namespace
}  // namespace tickstack::wire

BENCHMARK_MAIN();
