#include "query/schema_script.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <optional>
#include <utility>

#include "base/printable.h"
#include "base/status.h"
#include "query/columns/errors.h"
#include "query/language/parser.h"
#include "query/language/schema_names.h"
#include "query/query.h"

namespace tickstack::query {
namespace {

constexpr std::string_view kExample = "t:([]time:`timespan$();sym:`symbol$();price:`float$())";
constexpr std::chrono::seconds kTimeLimit{10};
constexpr size_t kMemoryLimit = size_t{256} << 20;

// A script is evaluated as if in a process of its own: there are no tables but its own.
class NoTables final : public Environment {
 public:
  std::optional<Snapshot> FindTable(std::string_view) override { return std::nullopt; }
  std::vector<std::string> TableNames() override { return {}; }
  int64_t NowNs() override { return 0; }
  ProcessFacts Facts() override { return {}; }
};

// A place in the script; both count from 1.
struct LineAndColumn {
  size_t line = 0;
  size_t column = 0;
};

// The statements of a script as one text, which `;` separates, and where each of its lines is in
// the script.
class JoinedStatements {
 public:
  void Append(std::string_view line, size_t number, bool continues) {
    text_ += lines_.empty() ? "" : continues ? "\n" : "\n;";
    lines_.push_back({text_.size(), number});
    text_ += line;
  }
  bool empty() const { return lines_.empty(); }
  const std::string& text() const { return text_; }
  LineAndColumn PlaceOf(size_t position) const {
    size_t i = lines_.size();
    while (i > 1 && lines_[i - 1].begin > position) --i;
    const Line& line = lines_[i - 1];
    return {line.number, position < line.begin ? 1 : position - line.begin + 1};
  }

 private:
  struct Line {
    size_t begin = 0;  // In text_.
    size_t number = 0;
  };
  std::string text_;
  std::vector<Line> lines_;
};

bool IsSpaceInScript(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

std::string_view WithoutBlanksAtEnd(std::string_view line) {
  while (!line.empty() && IsSpaceInScript(line.back())) line.remove_suffix(1);
  return line;
}

// Divides a script into its statements, as q does when it loads a file.
class ScriptLines {
 public:
  ScriptLines(std::string_view script, std::string_view name) : rest_(script), name_(name) {}

  absl::Status Read(SchemaScript& out) {
    while (!rest_.empty() && !ended_) {
      const size_t end = std::min(rest_.find('\n'), rest_.size());
      const std::string_view line = WithoutBlanksAtEnd(rest_.substr(0, end));
      rest_.remove_prefix(std::min(end + 1, rest_.size()));
      ++number_;
      TS_RETURN_IF_ERROR(ReadLine(line, out));
    }
    return absl::OkStatus();
  }
  const JoinedStatements& statements() const { return statements_; }

 private:
  absl::Status ReadLine(std::string_view line, SchemaScript& out) {
    // A block comment is from a line that is only `/` to one that is only a backslash. A backslash
    // elsewhere ends the script.
    if (in_comment_) {
      in_comment_ = line != "\\";
      return absl::OkStatus();
    }
    if (line == "/") in_comment_ = true;
    if (line == "\\") ended_ = true;
    if (line.empty() || line.front() == '/' || ended_) return absl::OkStatus();
    if (line.front() == '\\') return ReadCommand(line, out);
    if (is_elsewhere_) return absl::OkStatus();
    statements_.Append(line, number_, IsSpaceInScript(line.front()) || line.front() == '}');
    return absl::OkStatus();
  }

  absl::Status ReadCommand(std::string_view line, SchemaScript& out) {
    if (line.starts_with("\\d ")) {
      const std::string_view space = line.substr(line.find_first_not_of(' ', 2));
      is_elsewhere_ = space != ".";
      if (is_elsewhere_) {
        out.notes.push_back(
            fmt::format("line {}: what follows `\\d {}` is left out: a tickerplant publishes the "
                        "tables of the root namespace",
                        number_, Printable(space)));
      }
      return absl::OkStatus();
    }
    return InvalidArgument(
        "{}:{}:1: found the system command `{}`, expected a definition of a table, such as {}; if "
        "the line loads a file, convert that file by itself; then remove the line",
        name_, number_, Printable(line), kExample);
  }

  std::string_view rest_;
  std::string_view name_;
  size_t number_ = 0;
  bool in_comment_ = false;
  bool ended_ = false;
  bool is_elsewhere_ = false;  // After `\d .name`.
  JoinedStatements statements_;
};

// A name that statements assign outside of lambdas, and where.
struct AssignedName {
  std::string name;
  size_t position = 0;
};

void AddAssignedNames(const Node* node, std::vector<AssignedName>& found) {
  if (node == nullptr) return;
  if (node->kind == Node::Kind::kAssign || node->kind == Node::Kind::kView) {
    const bool is_known = std::ranges::any_of(
        found, [&](const AssignedName& each) { return each.name == node->name; });
    if (!is_known) found.push_back({node->name, node->position});
  }
  if (node->kind == Node::Kind::kView) return;  // Its child is a lambda.
  for (const NodePtr& child : node->children) AddAssignedNames(child.get(), found);
}

absl::Status AtPlace(const absl::Status& why, std::string_view name, LineAndColumn place) {
  return InvalidArgument("{}:{}:{}: {}", name, place.line, place.column, Message(why));
}

// Returns an error's message without a position in the joined text, which no reader has.
std::string MessageInScript(const absl::Status& why) {
  constexpr std::string_view kPosition = "at character ";
  std::string message(Message(why));
  const size_t begin = message.find(kPosition);
  const size_t end = message.find(": ", begin);
  if (begin != std::string::npos && end != std::string::npos) message.erase(begin, end + 2 - begin);
  return message;
}

// The error of a statement: where, what q reports, the text there, and what was expected.
absl::Status StatementError(const absl::Status& why, std::string_view name,
                            const JoinedStatements& statements) {
  constexpr size_t kShown = 40;
  const size_t position = std::min(PositionOf(why).value_or(0), statements.text().size());
  const LineAndColumn place = statements.PlaceOf(position);
  std::string_view found = std::string_view(statements.text()).substr(position);
  found = WithoutBlanksAtEnd(found.substr(0, std::min(found.find('\n'), kShown)));
  return InvalidArgument("{}:{}:{}: found `{}`: {}; expected a definition of a table, such as {}",
                         name, place.line, place.column, Printable(found), MessageInScript(why),
                         kExample);
}

absl::Status AddScriptColumns(const Value& table, Schema& schema, std::vector<std::string>& notes) {
  for (size_t i = 0; i < table.column_names().size(); ++i) {
    const std::string_view column = table.column_names()[i];
    const Value& values = table.columns()[i];
    if (!values.is_vector() && !values.is_list()) {
      return InvalidArgument("table {}: column {} is a {}, expected a vector or a list",
                             schema.table, column, NameOf(values.type()));
    }
    // An rdb has an index of `sym` whether or not the script asks for it.
    if (values.attribute() != Attribute::kNone && column != "sym") {
      notes.push_back(
          fmt::format("table {}: the attribute of column {} is left out", schema.table, column));
    }
    schema.columns.push_back({std::string(column), values.is_list() ? Type::kList : values.type()});
  }
  return absl::OkStatus();
}

absl::StatusOr<Schema> SchemaOfScriptTable(const Value& table, std::string_view name,
                                           std::vector<std::string>& notes) {
  Schema schema{std::string(name), {}, 0};
  if (table.is_keyed_table()) {
    TS_RETURN_IF_ERROR(AddScriptColumns(table.keys(), schema, notes));
    schema.key_columns = schema.columns.size();
    TS_RETURN_IF_ERROR(AddScriptColumns(table.values(), schema, notes));
  } else {
    TS_RETURN_IF_ERROR(AddScriptColumns(table, schema, notes));
  }
  TS_RETURN_IF_ERROR(CheckSchemaNames(schema));
  // Names with characters that a configuration does not allow.
  TS_RETURN_IF_ERROR(ParseSchema(schema.table, FormatSchema(schema)).status());
  return schema;
}

}  // namespace

absl::StatusOr<SchemaScript> ReadSchemaScript(std::string_view script, std::string_view name) {
  SchemaScript out;
  ScriptLines lines(script, name);
  TS_RETURN_IF_ERROR(lines.Read(out));
  const JoinedStatements& statements = lines.statements();
  std::vector<AssignedName> assigned;
  if (!statements.empty()) {
    Limits limits;
    limits.max_result_bytes = kMemoryLimit;
    limits.deadline = std::chrono::steady_clock::now() + kTimeLimit;
    const absl::StatusOr<std::vector<NodePtr>> parsed = Parse(statements.text(), limits.max_depth);
    if (!parsed.ok()) return StatementError(parsed.status(), name, statements);
    for (const NodePtr& statement : *parsed) AddAssignedNames(statement.get(), assigned);

    // The script's statements, then a list of what it assigned.
    std::string text = statements.text() + "\n;(::";
    for (const AssignedName& each : assigned) text += ";" + each.name;
    text += ")";
    NoTables environment;
    const absl::StatusOr<Value> values = Evaluate(text, environment, limits);
    if (!values.ok()) return StatementError(values.status(), name, statements);
    if (!values->is_list() || values->count() != assigned.size() + 1) {
      return InvalidArgument(
          "{}: a statement ends the script early, expected definitions of tables", name);
    }
    for (size_t i = 0; i < assigned.size(); ++i) {
      const Value& value = values->items()[i + 1];
      if (!value.is_table() && !value.is_keyed_table()) continue;
      if (assigned[i].name.find('.') != std::string::npos) {
        out.notes.push_back(
            fmt::format("table {} is left out: a tickerplant publishes the tables of the root "
                        "namespace",
                        assigned[i].name));
        continue;
      }
      absl::StatusOr<Schema> schema = SchemaOfScriptTable(value, assigned[i].name, out.notes);
      if (!schema.ok()) {
        return AtPlace(schema.status(), name, statements.PlaceOf(assigned[i].position));
      }
      out.tables.push_back(*std::move(schema));
    }
  }
  if (out.tables.empty()) {
    return NotFound("{}: found no table in the root namespace, expected one, such as {}", name,
                    kExample);
  }
  return out;
}

}  // namespace tickstack::query
