#include "loadtest/report/samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <span>

#include "base/file.h"
#include "base/status.h"

namespace tickstack::loadtest::report {
namespace {

constexpr size_t kLineBytesMax = 64 << 10;
constexpr size_t kBufferBytes = 256 << 10;
constexpr size_t kColumnsMax = 256;
constexpr double kTimeMax = 1e7;

// Reads the lines of a file, without their newlines.
class Lines {
 public:
  explicit Lines(const File& file) : file_(file), buffer_(kBufferBytes) {}

  // Returns nullopt at the end. The line is valid until the next call.
  absl::StatusOr<std::optional<std::string_view>> Next() {
    ++number_;
    size_t length = Newline();
    if (length == size_t(-1) && !at_end_) {
      TS_RETURN_IF_ERROR(Fill());
      length = Newline();
    }
    const bool is_last = length == size_t(-1);
    if (is_last) length = end_ - begin_;
    if (length > kLineBytesMax) {
      return DataLoss("line {}: longer than {} bytes", number_, kLineBytesMax);
    }
    if (is_last && length == 0) return std::optional<std::string_view>();
    std::string_view line(buffer_.data() + begin_, length);
    begin_ += length + (is_last ? 0 : 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    return std::optional<std::string_view>(line);
  }
  int64_t number() const { return number_; }

 private:
  // Returns the number of bytes before the next newline in the buffer; -1 if there is none.
  size_t Newline() const {
    const char* const begin = buffer_.data() + begin_;
    const void* const found = std::memchr(begin, '\n', end_ - begin_);
    return found == nullptr ? size_t(-1)
                            : static_cast<size_t>(static_cast<const char*>(found) - begin);
  }
  absl::Status Fill() {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    const std::span<char> room(buffer_.data() + end_, buffer_.size() - end_);
    TS_ASSIGN_OR_RETURN(const size_t got, file_.ReadAt(offset_, std::as_writable_bytes(room)));
    at_end_ = got < room.size();
    offset_ += got;
    end_ += got;
    return absl::OkStatus();
  }

  const File& file_;
  std::vector<char> buffer_;
  size_t begin_ = 0, end_ = 0;
  uint64_t offset_ = 0;
  int64_t number_ = 0;
  bool at_end_ = false;
};

// Splits a line into its cells. A cell in quotes may contain commas, and a doubled quote means one.
absl::Status Split(std::string_view line, std::vector<std::string>& cells) {
  size_t count = 0;
  const auto next_cell = [&]() -> std::string& {
    if (count == cells.size()) cells.emplace_back();
    cells[count].clear();
    return cells[count++];
  };
  size_t at = 0;
  while (true) {
    if (count == kColumnsMax) return DataLoss("more than {} columns", kColumnsMax);
    std::string& cell = next_cell();
    if (at < line.size() && line[at] == '"') {
      for (++at;; ++at) {
        if (at == line.size()) return DataLoss("column {}: a quote without its end", count);
        if (line[at] != '"') {
          cell += line[at];
        } else if (at + 1 < line.size() && line[at + 1] == '"') {
          cell += line[at++];
        } else {
          break;
        }
      }
      ++at;
      if (at < line.size() && line[at] != ',') {
        return DataLoss("column {}: found more behind the quote, expected a comma", count);
      }
    } else {
      const size_t end = std::min(line.find(',', at), line.size());
      cell.assign(line.substr(at, end - at));
      at = end;
    }
    if (at >= line.size()) break;
    ++at;
  }
  cells.resize(count);
  return absl::OkStatus();
}

absl::StatusOr<std::optional<double>> NumberOf(std::string_view cell, std::string_view column) {
  if (cell.empty()) return std::optional<double>();
  double number = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), number);
  if (error != std::errc() || end != cell.data() + cell.size() || !std::isfinite(number)) {
    return DataLoss("{}: found \"{}\", expected a number or nothing", column, cell.substr(0, 60));
  }
  return std::optional<double>(number);
}

// The positions of the columns.
class SampleHeader {
 public:
  absl::Status Read(const std::vector<std::string>& names) {
    names_ = names;
    TS_RETURN_IF_ERROR(Find("test", test_));
    TS_RETURN_IF_ERROR(Find("stack", stack_));
    TS_RETURN_IF_ERROR(Find("rdb", rdb_));
    TS_RETURN_IF_ERROR(Find("time_s", time_));
    for (size_t i = 0; i < kMetrics; ++i) {
      TS_RETURN_IF_ERROR(Find(fmt::format("{}_ms", kMetricNames[i]), metrics_[i]));
    }
    for (size_t i = 0; i < names_.size(); ++i) {
      const std::string_view name = names_[i];
      if (name.size() <= 10 || !name.starts_with("tier.") || !name.ends_with(".used")) continue;
      tiers_.push_back(i);
      columns_.tiers.emplace_back(name.substr(5, name.size() - 10));
    }
    return absl::OkStatus();
  }

  absl::Status RowOf(const RunFiles& run, const std::vector<std::string>& cells,
                     RecordedSample& row) {
    if (cells.size() != names_.size()) {
      return DataLoss("found {} cells, the header has {}", cells.size(), names_.size());
    }
    TS_RETURN_IF_ERROR(Place(run, cells[test_], cells[stack_]));
    row.test = last_test_;
    row.stack = last_stack_;
    row.rdb = cells[rdb_];
    TS_ASSIGN_OR_RETURN(const std::optional<double> time, NumberOf(cells[time_], "time_s"));
    if (!time || *time < 0 || *time > kTimeMax) {
      return DataLoss("time_s: found \"{}\", expected seconds from 0 to {:g}",
                      cells[time_].substr(0, 60), kTimeMax);
    }
    row.time_s = *time;
    for (size_t i = 0; i < kMetrics; ++i) {
      TS_ASSIGN_OR_RETURN(row.metrics_ms[i], NumberOf(cells[metrics_[i]], names_[metrics_[i]]));
    }
    row.tiers_used.resize(tiers_.size());
    for (size_t i = 0; i < tiers_.size(); ++i) {
      TS_ASSIGN_OR_RETURN(row.tiers_used[i], NumberOf(cells[tiers_[i]], names_[tiers_[i]]));
    }
    return absl::OkStatus();
  }
  const SampleColumns& columns() const { return columns_; }

 private:
  absl::Status Find(std::string_view name, size_t& index) const {
    const auto found = std::find(names_.begin(), names_.end(), name);
    if (found == names_.end()) return DataLoss("expected a column {}, found none", name);
    index = static_cast<size_t>(found - names_.begin());
    return absl::OkStatus();
  }
  // Successive rows are mostly of one stack, so the last result is the first guess. Several tests
  // may have the same name if the names of their stacks differ.
  absl::Status Place(const RunFiles& run, const std::string& test, const std::string& stack) {
    const auto is_here = [&](size_t t, size_t s) {
      return t < run.tests.size() && s < run.tests[t].stacks.size() && run.tests[t].name == test &&
             run.tests[t].stacks[s].name == stack;
    };
    if (is_here(last_test_, last_stack_)) return absl::OkStatus();
    bool has_test = false;
    for (size_t t = 0; t < run.tests.size(); ++t) {
      has_test = has_test || run.tests[t].name == test;
      for (size_t s = 0; s < run.tests[t].stacks.size(); ++s) {
        if (!is_here(t, s)) continue;
        last_test_ = t;
        last_stack_ = s;
        return absl::OkStatus();
      }
    }
    if (!has_test) {
      return DataLoss("test: found \"{}\", which summary.json does not have", test.substr(0, 60));
    }
    return DataLoss("stack: found \"{}\", which test {} of summary.json does not have",
                    stack.substr(0, 60), test);
  }

  std::vector<std::string> names_;
  size_t test_ = 0, stack_ = 0, rdb_ = 0, time_ = 0;
  std::array<size_t, kMetrics> metrics_{};
  std::vector<size_t> tiers_;
  SampleColumns columns_;
  size_t last_test_ = 0, last_stack_ = 0;
};

absl::Status ReadLines(const RunFiles& run, Lines& lines,
                       const std::function<void(const SampleColumns&)>& begin,
                       const std::function<absl::Status(const RecordedSample&)>& use) {
  std::vector<std::string> cells;
  SampleHeader header;
  TS_ASSIGN_OR_RETURN(std::optional<std::string_view> line, lines.Next());
  if (!line) return DataLoss("found nothing, expected a header");
  const auto at_line = [&lines](const absl::Status& status) {
    return status.ok() ? status : Annotate(status, fmt::format("line {}", lines.number()));
  };
  TS_RETURN_IF_ERROR(at_line(Split(*line, cells)));
  TS_RETURN_IF_ERROR(at_line(header.Read(cells)));
  begin(header.columns());
  RecordedSample row;
  while (true) {
    TS_ASSIGN_OR_RETURN(line, lines.Next());
    if (!line) return absl::OkStatus();
    TS_RETURN_IF_ERROR(at_line(Split(*line, cells)));
    TS_RETURN_IF_ERROR(at_line(header.RowOf(run, cells, row)));
    TS_RETURN_IF_ERROR(at_line(use(row)));
  }
}

}  // namespace

absl::Status ReadSamples(const RunFiles& run,
                         const std::function<void(const SampleColumns&)>& begin,
                         const std::function<absl::Status(const RecordedSample&)>& use) {
  const std::string path = run.directory + "/samples.csv";
  TS_ASSIGN_OR_RETURN(const File file, File::OpenForReading(path));
  Lines lines(file);
  return Annotate(ReadLines(run, lines, begin, use), path);
}

}  // namespace tickstack::loadtest::report
