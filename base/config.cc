#include "base/config.h"

#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "base/nearest_name.h"
#include "base/status.h"
#include "base/time.h"

namespace tickstack {

struct ConfigTable::Document {
  using Asked = std::map<const toml::table*, std::set<std::string, std::less<>>>;
  std::string name;
  toml::table root;
  Asked asked;
  // The last error: what it is about, and its key.
  Config::Wrong wrong = Config::Wrong::kNothing;
  const toml::table* wrong_table = nullptr;
  std::string wrong_key;
  std::set<const toml::table*> lost_keys;  // Tables that DropWrong took a key from.
};

namespace {

const toml::table* AsTable(const void* table) { return static_cast<const toml::table*>(table); }
const toml::node* AsNode(const void* node) { return static_cast<const toml::node*>(node); }

std::string Dotted(std::string_view path, std::string_view key) {
  return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
}

// Returns what the file has instead of the expected value: `string "x"`, `integer 5`, `table`.
std::string Found(const toml::node& node) {
  if (const auto* text = node.as_string()) return fmt::format("string \"{}\"", text->get());
  if (const auto* number = node.as_integer()) return fmt::format("integer {}", number->get());
  if (const auto* number = node.as_floating_point()) return fmt::format("float {}", number->get());
  if (const auto* truth = node.as_boolean()) return fmt::format("boolean {}", truth->get());
  if (node.is_table()) return "a table";
  if (node.is_array()) return "an array";
  return "a date or time";
}

struct Unit {
  std::string_view name;
  double factor;
};

// Parses a number from 0 on and its unit; nullopt if it is neither, or does not fit 63 bits.
template <size_t N>
std::optional<int64_t> ParseWithUnit(std::string_view text, const std::array<Unit, N>& units,
                                     bool unit_required) {
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc() || !std::isfinite(number) || number < 0) return std::nullopt;
  std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  if (unit.empty()) {
    if (unit_required && number != 0) return std::nullopt;
    unit = units.front().name;
  }
  for (const Unit& known : units) {
    if (known.name != unit) continue;
    const double product = std::round(number * known.factor);
    if (product >= 0x1p63) return std::nullopt;
    return static_cast<int64_t>(product);
  }
  return std::nullopt;
}

// A key of the file that was not read.
struct UnusedKey {
  const toml::table* table;
  const toml::key* key;
  std::string name;  // With its path.
  std::string nearest;

  bool operator<(const UnusedKey& other) const {
    return key->source().begin < other.key->source().begin;
  }
};

void CollectUnused(const toml::table& table, const std::string& path,
                   const std::map<const toml::table*, std::set<std::string, std::less<>>>& asked,
                   std::vector<UnusedKey>& unused) {
  static const std::set<std::string, std::less<>> kNone;
  const auto found = asked.find(&table);
  const auto& known = found == asked.end() ? kNone : found->second;
  for (const auto& [key, node] : table) {
    const std::string name = Dotted(path, key.str());
    if (!known.contains(key.str())) {
      unused.push_back({&table, &key, name, NearestName(key.str(), {known.begin(), known.end()})});
    } else if (const toml::table* inner = node.as_table()) {
      CollectUnused(*inner, name, asked, unused);
    } else if (const toml::array* array = node.as_array()) {
      for (size_t i = 0; i < array->size(); ++i) {
        const toml::table* element = (*array)[i].as_table();
        if (element != nullptr) {
          CollectUnused(*element, fmt::format("{}[{}]", name, i), asked, unused);
        }
      }
    }
  }
}

void CollectValues(const toml::node& node, const std::string& path,
                   std::map<std::string, std::string>& values) {
  if (const toml::table* const table = node.as_table()) {
    for (const auto& [key, inner] : *table) CollectValues(inner, Dotted(path, key.str()), values);
    return;
  }
  const toml::array* const array = node.as_array();
  if (array != nullptr && array->is_array_of_tables()) {
    for (size_t i = 0; i < array->size(); ++i) {
      CollectValues((*array)[i], fmt::format("{}[{}]", path, i), values);
    }
    return;
  }
  std::ostringstream text;
  node.visit([&text](const auto& value) { text << value; });
  values[path] = text.str();
}

// Removes `table` from what holds it, below `holder`. False if it is not there.
bool RemoveTable(toml::table& holder, const toml::table* table) {
  for (auto at = holder.begin(); at != holder.end(); ++at) {
    toml::node& node = at->second;
    if (node.as_table() == table) {
      holder.erase(at);
      return true;
    }
    if (toml::table* const inner = node.as_table()) {
      if (RemoveTable(*inner, table)) return true;
    } else if (toml::array* const array = node.as_array()) {
      for (auto element = array->begin(); element != array->end(); ++element) {
        if (element->as_table() == table) {
          array->erase(element);
          return true;
        }
        if (element->is_table() && RemoveTable(*element->as_table(), table)) return true;
      }
    }
  }
  return false;
}

}  // namespace

bool ConfigTable::Has(std::string_view key) const { return Find(key) != nullptr; }

std::vector<std::string> ConfigTable::Keys() const {
  std::vector<std::pair<toml::source_position, std::string>> found;
  if (table_ != nullptr) {
    for (const auto& [key, node] : *AsTable(table_)) {
      found.emplace_back(key.source().begin, std::string(key.str()));
    }
  }
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> keys;
  keys.reserve(found.size());
  for (auto& [position, key] : found) keys.push_back(std::move(key));
  return keys;
}

const void* ConfigTable::Find(std::string_view key) const {
  if (table_ == nullptr) return nullptr;
  document_->asked[AsTable(table_)].emplace(key);
  return AsTable(table_)->get(key);
}

std::string ConfigTable::Place(std::string_view key) const {
  const toml::node* node = table_ == nullptr ? nullptr : AsTable(table_)->get(key);
  if (node == nullptr) node = AsTable(table_);
  const std::string name = Dotted(path_, key);
  if (node == nullptr || node->source().begin.line == 0) {
    return fmt::format("{}: {}", document_->name, name);
  }
  return fmt::format("{}:{}:{}: {}", document_->name, node->source().begin.line,
                     node->source().begin.column, name);
}

absl::Status ConfigTable::ErrorAt(std::string_view key, std::string_view what) const {
  return NoteError(key, what, false);
}

absl::Status ConfigTable::Mismatch(std::string_view key, std::string_view expected) const {
  return NoteError(key, fmt::format("expected {}, found {}", expected, Found(*AsNode(Find(key)))),
                   true);
}

absl::Status ConfigTable::NoteError(std::string_view key, std::string_view what,
                                    bool of_type) const {
  const toml::node* const node = table_ == nullptr ? nullptr : AsTable(table_)->get(key);
  const toml::table* const value = node == nullptr ? nullptr : node->as_table();
  if (value != nullptr && document_->lost_keys.contains(value)) {
    // What is wrong with the whole table may come from the key that it lost.
    document_->wrong = Config::Wrong::kFollows;
    document_->wrong_table = value;
    document_->wrong_key.clear();
    return InvalidArgument("{}: {}", Place(key), what);
  }
  const bool follows = document_->lost_keys.contains(AsTable(table_));
  if (node != nullptr) {
    document_->wrong = of_type ? Config::Wrong::kType : Config::Wrong::kContent;
  } else {
    document_->wrong = follows ? Config::Wrong::kFollows : Config::Wrong::kMissing;
  }
  document_->wrong_table = AsTable(table_);
  document_->wrong_key = key;
  return InvalidArgument("{}: {}", Place(key), what);
}

absl::Status ConfigTable::ReadInteger(std::string_view key, int64_t min, int64_t max,
                                      std::optional<int64_t>* value) const {
  const toml::node* node = AsNode(Find(key));
  if (node == nullptr) return absl::OkStatus();
  const auto* number = node->as_integer();
  if (number != nullptr && number->get() >= min && number->get() <= max) {
    *value = number->get();
    return absl::OkStatus();
  }
  const bool any = min == INT64_MIN && max == INT64_MAX;
  return Mismatch(key, any ? "an integer" : fmt::format("an integer from {} to {}", min, max));
}

absl::Status ConfigTable::Read(std::string_view key, std::string* target) const {
  const toml::node* node = AsNode(Find(key));
  if (node == nullptr) return absl::OkStatus();
  if (!node->is_string()) return Mismatch(key, "a string");
  *target = node->as_string()->get();
  return absl::OkStatus();
}

absl::Status ConfigTable::Read(std::string_view key, bool* target) const {
  const toml::node* node = AsNode(Find(key));
  if (node == nullptr) return absl::OkStatus();
  if (!node->is_boolean()) return Mismatch(key, "true or false");
  *target = node->as_boolean()->get();
  return absl::OkStatus();
}

absl::Status ConfigTable::Read(std::string_view key, double* target) const {
  const toml::node* node = AsNode(Find(key));
  if (node == nullptr) return absl::OkStatus();
  if (const auto* number = node->as_floating_point()) {
    *target = number->get();
  } else if (const auto* integer = node->as_integer()) {
    *target = static_cast<double>(integer->get());
  } else {
    return Mismatch(key, "a number");
  }
  return absl::OkStatus();
}

absl::Status ConfigTable::Read(std::string_view key, std::vector<std::string>* target) const {
  const toml::node* node = AsNode(Find(key));
  if (node == nullptr) return absl::OkStatus();
  const toml::array* array = node->as_array();
  if (array == nullptr) return Mismatch(key, "an array of strings");
  std::vector<std::string> texts;
  for (const toml::node& element : *array) {
    if (!element.is_string()) {
      return ErrorAt(key,
                     fmt::format("expected an array of strings, found {} in it", Found(element)));
    }
    texts.push_back(element.as_string()->get());
  }
  *target = std::move(texts);
  return absl::OkStatus();
}

absl::Status ConfigTable::Read(std::string_view key, std::vector<int>* target, int min,
                               int max) const {
  const toml::node* node = AsNode(Find(key));
  if (node == nullptr) return absl::OkStatus();
  const std::string expected = fmt::format("an array of integers from {} to {}", min, max);
  const toml::array* array = node->as_array();
  if (array == nullptr) return Mismatch(key, expected);
  std::vector<int> numbers;
  for (const toml::node& element : *array) {
    const auto* number = element.as_integer();
    if (number == nullptr || number->get() < min || number->get() > max) {
      return ErrorAt(key, fmt::format("expected {}, found {} in it", expected, Found(element)));
    }
    numbers.push_back(static_cast<int>(number->get()));
  }
  *target = std::move(numbers);
  return absl::OkStatus();
}

absl::Status ConfigTable::ReadBytes(std::string_view key, size_t* target) const {
  const toml::node* node = AsNode(Find(key));
  if (node == nullptr) return absl::OkStatus();
  std::optional<size_t> bytes;
  if (const auto* text = node->as_string()) {
    bytes = ParseBytes(text->get());
  } else if (const auto* number = node->as_integer(); number != nullptr && number->get() >= 0) {
    bytes = static_cast<size_t>(number->get());
  }
  if (!bytes.has_value()) return Mismatch(key, "a size such as \"64GiB\" or a number of bytes");
  *target = *bytes;
  return absl::OkStatus();
}

absl::Status ConfigTable::ReadDuration(std::string_view key, int64_t* target_ns) const {
  const toml::node* node = AsNode(Find(key));
  if (node == nullptr) return absl::OkStatus();
  const auto* text = node->as_string();
  const std::optional<int64_t> ns = text == nullptr ? std::nullopt : ParseDuration(text->get());
  if (!ns.has_value()) return Mismatch(key, "a duration such as \"50ms\"");
  *target_ns = *ns;
  return absl::OkStatus();
}

absl::StatusOr<ConfigTable> ConfigTable::Table(std::string_view key) const {
  const toml::node* node = AsNode(Find(key));
  if (node != nullptr && !node->is_table()) return Mismatch(key, "a table");
  const toml::table* table = node == nullptr ? nullptr : node->as_table();
  return ConfigTable(document_, table, Dotted(path_, key));
}

absl::StatusOr<std::vector<ConfigTable>> ConfigTable::Tables(std::string_view key) const {
  const toml::node* node = AsNode(Find(key));
  std::vector<ConfigTable> tables;
  if (node == nullptr) return tables;
  if (node->is_table()) {
    tables.push_back(ConfigTable(document_, node->as_table(), Dotted(path_, key)));
    return tables;
  }
  const toml::array* array = node->as_array();
  if (array == nullptr) return Mismatch(key, fmt::format("tables [[{}]]", Dotted(path_, key)));
  for (size_t i = 0; i < array->size(); ++i) {
    const toml::table* table = (*array)[i].as_table();
    if (table == nullptr) {
      return ErrorAt(key,
                     fmt::format("expected tables, found {} in the array", Found((*array)[i])));
    }
    tables.push_back(ConfigTable(document_, table, fmt::format("{}[{}]", Dotted(path_, key), i)));
  }
  return tables;
}

absl::StatusOr<Config> Config::Load(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    return InvalidArgument("{}: a directory, expected a file", path);
  }
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    const int why = errno == 0 ? EIO : errno;
    return why == ENOENT ? NotFound("{}: no such file", path)
                         : ErrnoStatus(why, fmt::format("{}: cannot open the file", path));
  }
  std::ostringstream text;
  text << file.rdbuf();
  if (file.bad()) return Internal("{}: cannot read the file", path);
  return Parse(text.str(), path);
}

absl::StatusOr<Config> Config::Parse(std::string_view text, std::string_view name) {
  auto document = std::make_shared<ConfigTable::Document>();
  document->name = name;
  try {
    document->root = toml::parse(text, name);
  } catch (const toml::parse_error& error) {
    return InvalidArgument("{}:{}:{}: {}", name, error.source().begin.line,
                           error.source().begin.column, error.description());
  }
  const toml::table* root = &document->root;
  return Config(ConfigTable(std::move(document), root, ""));
}

std::map<std::string, std::string> Config::Values() const {
  std::map<std::string, std::string> values;
  CollectValues(root_.document_->root, "", values);
  return values;
}

absl::Status Config::CheckUnusedKeys() const {
  ConfigTable::Document& document = *root_.document_;
  std::vector<UnusedKey> unused;
  CollectUnused(document.root, "", document.asked, unused);
  if (unused.empty()) return absl::OkStatus();
  std::sort(unused.begin(), unused.end());
  document.wrong = Wrong::kUnknown;
  std::string message;
  for (const UnusedKey& key : unused) {
    const toml::source_position& at = key.key->source().begin;
    message +=
        fmt::format("{}{}:{}:{}: {}: unknown key{}", message.empty() ? "" : "\n", document.name,
                    at.line, at.column, key.name,
                    key.nearest.empty() ? "" : fmt::format(", did you mean {}?", key.nearest));
  }
  return InvalidArgument("{}", message);
}

Config::Wrong Config::wrong() const { return root_.document_->wrong; }

bool Config::DropWrong() {
  ConfigTable::Document& document = *root_.document_;
  // The document is not const: only readers see it so.
  const auto writable = [](const toml::table* table) { return const_cast<toml::table*>(table); };
  bool dropped = false;
  switch (document.wrong) {
    case Wrong::kNothing:
      break;
    case Wrong::kType:
    case Wrong::kContent:
      dropped = writable(document.wrong_table)->erase(document.wrong_key) > 0;
      document.lost_keys.insert(document.wrong_table);
      break;
    case Wrong::kMissing:
    case Wrong::kFollows:
      dropped = document.wrong_table != nullptr && RemoveTable(document.root, document.wrong_table);
      break;
    case Wrong::kUnknown: {
      std::vector<UnusedKey> unused;
      CollectUnused(document.root, "", document.asked, unused);
      dropped = !unused.empty();
      for (const UnusedKey& each : unused) {
        const std::string key(each.key->str());
        writable(each.table)->erase(key);
      }
      break;
    }
  }
  document.wrong = Wrong::kNothing;
  document.asked.clear();  // Another table may get the address of a removed one.
  return dropped;
}

std::optional<size_t> ParseBytes(std::string_view text) {
  static constexpr std::array kUnits = {
      Unit{"B", 1},        Unit{"KiB", 0x1p10}, Unit{"MiB", 0x1p20},
      Unit{"GiB", 0x1p30}, Unit{"TiB", 0x1p40}, Unit{"KB", 1e3},
      Unit{"MB", 1e6},     Unit{"GB", 1e9},     Unit{"TB", 1e12},
  };
  const std::optional<int64_t> bytes = ParseWithUnit(text, kUnits, false);
  if (!bytes.has_value()) return std::nullopt;
  return static_cast<size_t>(*bytes);
}

std::optional<int64_t> ParseDuration(std::string_view text) {
  static constexpr std::array kUnits = {
      Unit{"ns", 1},
      Unit{"us", 1e3},
      Unit{"ms", 1e6},
      Unit{"s", static_cast<double>(kNsPerSecond)},
      Unit{"m", 60.0 * static_cast<double>(kNsPerSecond)},
      Unit{"h", 3600.0 * static_cast<double>(kNsPerSecond)},
      Unit{"d", static_cast<double>(kNsPerDay)},
  };
  return ParseWithUnit(text, kUnits, true);
}

}  // namespace tickstack
