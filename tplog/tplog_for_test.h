#pragma once

// Helpers for tests of the log: a temporary folder, messages, and small changes to files.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_buffer.h"
#include "base/file.h"
#include "base/status.h"
#include "table/value.h"
#include "tplog/tplog_format.h"
#include "tplog/tplog_reader.h"
#include "tplog/tplog_writer.h"
#include "wire/codec.h"

namespace tickstack::tplog {

// Returns a message `(`upd; table; columns)` of `rows` rows: sym, price, size.
inline ByteBuffer UpdMessage(std::string_view table, int rows, int64_t first = 0) {
  SymbolVector syms;
  std::vector<double> prices;
  std::vector<int64_t> sizes;
  for (int64_t row = first; row < first + rows; ++row) {
    syms.push_back(row % 2 == 0 ? "AIG" : "BAC");
    prices.push_back(static_cast<double>(row) / 4);
    sizes.push_back(row * 100);
  }
  std::vector<Value> columns = {Value::Symbols(std::move(syms)),
                                Value::Vector(Type::kFloat, std::span<const double>(prices)),
                                Value::Vector(Type::kLong, std::span<const int64_t>(sizes))};
  ByteBuffer body;
  Encode(Value::List({Value::Symbol("upd"), Value::Symbol(table), Value::List(std::move(columns))}),
         body);
  return body;
}

// Builds a block of the log, one message at a time.
class BlockOf {
 public:
  explicit BlockOf(std::string_view feed = "") { block_.feed = feed; }
  BlockOf& Add(std::string_view table, int rows, int64_t first = 0) {
    bodies_.push_back(UpdMessage(table, rows, first));
    ++block_.messages;
    for (TplogBlock::Rows& counted : rows_) {
      if (counted.table == table) {
        counted.rows += static_cast<uint32_t>(rows);
        return *this;
      }
    }
    rows_.push_back({table, static_cast<uint32_t>(rows)});
    return *this;
  }
  absl::Status AppendTo(TplogWriter& writer, int64_t time_ns = 0) {
    std::vector<std::span<const std::byte>> segments(bodies_.begin(), bodies_.end());
    block_.segments = segments;
    block_.rows = rows_;
    block_.time_ns = time_ns;
    return writer.Append(block_);
  }

 private:
  TplogBlock block_;
  std::vector<ByteBuffer> bodies_;
  std::vector<TplogBlock::Rows> rows_;
};

class TplogTest : public testing::Test {
 protected:
  TplogTest() {
    // In memory if possible: these tests open logs thousands of times, and each open syncs.
    std::string name = ::access("/dev/shm", W_OK) == 0
                           ? "/dev/shm/ts_tplog_XXXXXX"
                           : (std::filesystem::temp_directory_path() / "ts_tplog_XXXXXX").string();
    directory_ = ::mkdtemp(name.data());
    path_ = directory_ + "/sym2013.10.07";
    index_path_ = TplogIndexPath(path_);
  }
  ~TplogTest() override { std::filesystem::remove_all(directory_); }

  std::unique_ptr<TplogWriter> OpenWriter(TplogOptions options = {}) {
    auto writer = TplogWriter::Open(path_, std::move(options));
    EXPECT_TRUE(writer.ok()) << writer.status();
    return std::move(writer).value();
  }
  std::unique_ptr<TplogReader> OpenReader(TplogReaderOptions options = {}) {
    auto reader = TplogReader::Open(path_, options);
    EXPECT_TRUE(reader.ok()) << reader.status();
    return std::move(reader).value();
  }

  // Returns the messages as texts, up to the end or the first error, which is stored in `status`.
  static std::vector<std::string> Replay(TplogReader& reader, absl::Status* status = nullptr) {
    std::vector<std::string> bodies;
    while (true) {
      auto message = reader.Next();
      if (status != nullptr) *status = message.status();
      EXPECT_TRUE(message.ok() || status != nullptr) << message.status();
      if (!message.ok() || !message->has_value()) return bodies;
      EXPECT_EQ((*message)->seq + 1, reader.next_seq());
      bodies.emplace_back(AsText((*message)->body));
    }
  }
  std::vector<std::string> Replay() { return Replay(*OpenReader()); }

  static std::string Content(const std::string& path) {
    return std::string(AsText(tickstack::ReadWholeFile(path, 1 << 30).value().span()));
  }
  static void Write(const std::string& path, std::string_view content) {
    File file = File::OpenOrCreate(path).value();
    ASSERT_TRUE(file.Truncate(0).ok());
    ASSERT_TRUE(file.WriteAt(0, AsBytes(content)).ok());
  }
  static void AppendTo(const std::string& path, std::span<const std::byte> bytes) {
    File file = File::OpenOrCreate(path).value();
    ASSERT_TRUE(file.WriteAt(file.Bytes().value(), bytes).ok());
  }
  static void FlipBit(const std::string& path, uint64_t offset) {
    std::string content = Content(path);
    content[offset] = static_cast<char>(content[offset] ^ 4);
    Write(path, content);
  }

  std::string directory_;
  std::string path_;
  std::string index_path_;
};

}  // namespace tickstack::tplog
