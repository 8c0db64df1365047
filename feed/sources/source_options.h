#pragma once

// The options of a source, from the command line or the configuration.
//
// Each kind of source derives its own options from SourceOptions, in its own header, and lists them
// by key. The reader of stack.toml and the flags of `tickstack feed` are made from these lists, so
// an option is declared in one place.

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "feed/sources/pace.h"
#include "feed/sources/source.h"
#include "feed/sources/table_map.h"
#include "table/schema.h"

namespace tickstack::feed {

// One option. Its type is that of the field, and its default is the field's value before anything
// was read.
struct SourceOption {
  using Field = std::variant<std::string*, std::vector<std::string>*, double*, int64_t*, uint64_t*,
                             std::vector<PacePhase>*, std::vector<TableChange>*>;

  std::string_view key;  // In stack.toml; `batch_rows` is the flag `--batch-rows`.
  // Shown after the names of the kinds of sources that have the option, as in `sim: updates per
  // second`.
  std::string_view help;
  // A list is an array of strings in stack.toml, and a text such as `aig,bac` as a flag. Phases and
  // changes of tables have no flag.
  Field field;
  int64_t min = 0;  // Range of an integer. Other numbers must not be negative.
  int64_t max = std::numeric_limits<int64_t>::max();
};

class SourceOptions {
 public:
  virtual ~SourceOptions() = default;

  // The options; their fields are members of this object.
  virtual std::vector<SourceOption> List() = 0;

  // Opens the source. kInvalidArgument with the option at fault; kNotFound for a missing file.
  virtual absl::StatusOr<std::unique_ptr<Source>> Open() const = 0;

  // kInvalidArgument for changes of tables that cannot be made.
  virtual absl::Status CheckMap() const { return absl::OkStatus(); }

  // Returns the tables of a stack whose configuration has no `[tables]`; empty: the default ones.
  // CheckMap must have passed.
  virtual std::vector<Schema> Schemas() const { return {}; }

  // Names the rows: `lean.2013.10.07.aig,bac`. Row n is the same row wherever the name is the same.
  virtual std::string RowsName() const = 0;

  std::string date;    // The stack's day, such as `2013.10.07`; empty if it has none.
  std::string folder;  // Directory for files that it keeps from one start to the next.

 protected:
  SourceOptions() = default;
  SourceOptions(const SourceOptions&) = default;
  SourceOptions& operator=(const SourceOptions&) = default;
};

// Returns the option `batch_rows` of sources that build their messages themselves.
SourceOption BatchRowsOption(int64_t* field);

// Returns `text`, or its checksum if it is long: names stay in the log's index for ever.
std::string ShortName(std::string text);

// Returns the name under which a feed numbers its rows: `feed@lean.2013.10.07.aig,bac`. The
// tickerplant keeps the row counts of a name from day to day, and drops rows that it has. So the
// name must differ for different rows, such as those of the next day's archive or of another seed.
std::string NumberedName(std::string_view feed, const SourceOptions& options,
                         std::string_view rows_id = {});

}  // namespace tickstack::feed
