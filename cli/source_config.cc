#include "cli/source_config.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/status.h"
#include "cli/shared_options.h"
#include "query/language/schema_names.h"

namespace tickstack::cli {
namespace {

using feed::SourceOption;
using feed::SourceSettings;

// All options of one key: of which kinds, the chosen one first.
struct OptionsOfKey {
  std::string_view key;
  std::vector<std::pair<std::string_view, SourceOption>> of_kinds;
};

std::vector<OptionsOfKey> OptionsByKey(const SourceSettings& source) {
  std::vector<OptionsOfKey> all;
  for (size_t i = 0; i < source.all().size(); ++i) {
    const std::string_view kind = feed::SourceKinds()[i].name;
    for (const SourceOption& option : source.all()[i]->List()) {
      auto found = std::ranges::find(all, option.key, &OptionsOfKey::key);
      if (found == all.end()) found = all.insert(all.end(), OptionsOfKey{option.key, {}});
      const auto at = kind == source.kind() ? found->of_kinds.begin() : found->of_kinds.end();
      found->of_kinds.insert(at, {kind, option});
    }
  }
  return all;
}

// Sets the options of one key, by what `set` returns for each. The first one decides: it is the
// chosen kind's, or no kind's that matters.
template <typename Set>
absl::Status SetAll(const OptionsOfKey& options, const Set& set) {
  absl::Status first;
  for (const auto& [kind, option] : options.of_kinds) {
    const absl::Status status = set(option);
    if (kind == options.of_kinds.front().first) first = status;
  }
  return first;
}

absl::Status ReadPhases(const ConfigTable& table, std::string_view key,
                        std::vector<feed::PacePhase>* phases) {
  TS_ASSIGN_OR_RETURN(const std::vector<ConfigTable> sections, table.Tables(key));
  for (const ConfigTable& section : sections) {
    feed::PacePhase& phase = phases->emplace_back();
    TS_RETURN_IF_ERROR(ReadFromZero(section, "seconds", &phase.seconds));
    TS_RETURN_IF_ERROR(ReadFromZero(section, "rate", &phase.rate));
  }
  return absl::OkStatus();
}

// A table of strings: its keys and their values.
absl::Status ReadPairs(const ConfigTable& section, std::string_view key,
                       std::vector<std::pair<std::string, std::string>>* pairs) {
  TS_ASSIGN_OR_RETURN(const ConfigTable table, section.Table(key));
  for (const std::string& name : table.Keys()) {
    auto& pair = pairs->emplace_back(name, "");
    TS_RETURN_IF_ERROR(table.Read(name, &pair.second));
  }
  return absl::OkStatus();
}

absl::Status ReadChanges(const ConfigTable& table, std::string_view key,
                         std::vector<feed::TableChange>* changes) {
  TS_ASSIGN_OR_RETURN(const ConfigTable map, table.Table(key));
  changes->clear();
  for (const std::string& of : map.Keys()) {
    TS_ASSIGN_OR_RETURN(const ConfigTable section, map.Table(of));
    feed::TableChange& change = changes->emplace_back();
    change.of = of;
    TS_RETURN_IF_ERROR(section.Read("name", &change.name));
    TS_RETURN_IF_ERROR(section.Read("drop", &change.drop));
    TS_RETURN_IF_ERROR(ReadPairs(section, "rename", &change.rename));
    TS_RETURN_IF_ERROR(ReadPairs(section, "add", &change.add));
  }
  return absl::OkStatus();
}

struct ReadField {
  const ConfigTable& table;
  const SourceOption& option;

  absl::Status operator()(std::string* field) const { return table.Read(option.key, field); }
  absl::Status operator()(std::vector<std::string>* field) const {
    return table.Read(option.key, field);
  }
  absl::Status operator()(double* field) const { return ReadFromZero(table, option.key, field); }
  absl::Status operator()(int64_t* field) const {
    return table.Read(option.key, field, option.min, option.max);
  }
  absl::Status operator()(uint64_t* field) const { return table.Read(option.key, field); }
  absl::Status operator()(std::vector<feed::PacePhase>* field) const {
    return ReadPhases(table, option.key, field);
  }
  absl::Status operator()(std::vector<feed::TableChange>* field) const {
    return ReadChanges(table, option.key, field);
  }
};

template <typename Number>
std::optional<Number> ParseNumber(const std::string& text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

struct ParseField {
  const SourceOption& option;
  const std::string& text;

  absl::Status Expected(std::string_view what) const {
    return InvalidArgument("expected {}, found \"{}\"", what, text);
  }
  absl::Status operator()(std::string* field) const {
    *field = text;
    return absl::OkStatus();
  }
  absl::Status operator()(std::vector<std::string>* field) const {
    field->clear();
    for (size_t begin = 0; begin <= text.size();) {
      const size_t comma = std::min(text.find(',', begin), text.size());
      field->push_back(text.substr(begin, comma - begin));
      begin = comma + 1;
    }
    return absl::OkStatus();
  }
  absl::Status operator()(double* field) const {
    const std::optional<double> number = ParseNumber<double>(text);
    if (!number || !(*number >= 0)) return Expected("a number from 0 on");
    *field = *number;
    return absl::OkStatus();
  }
  absl::Status operator()(int64_t* field) const {
    const std::optional<int64_t> number = ParseNumber<int64_t>(text);
    if (!number || *number < option.min || *number > option.max) {
      return Expected(option.max == std::numeric_limits<int64_t>::max()
                          ? fmt::format("a number from {} on", option.min)
                          : fmt::format("a number from {} to {}", option.min, option.max));
    }
    *field = *number;
    return absl::OkStatus();
  }
  absl::Status operator()(uint64_t* field) const {
    const std::optional<uint64_t> number = ParseNumber<uint64_t>(text);
    if (!number) return Expected("a number from 0 on");
    *field = *number;
    return absl::OkStatus();
  }
  template <typename T>  // Phases, changes.
  absl::Status operator()(std::vector<T>* /*field*/) const {
    return Expected("nothing: it is set in stack.toml only");
  }
};

bool HasFlag(const SourceOption& option) {
  return !std::holds_alternative<std::vector<feed::PacePhase>*>(option.field) &&
         !std::holds_alternative<std::vector<feed::TableChange>*>(option.field);
}

std::string FlagOf(std::string_view key) {
  std::string flag = "--" + std::string(key);
  std::ranges::replace(flag, '_', '-');
  return flag;
}

// Returns `sim: number of symbols; lean: folders of the symbols`, with each text once.
std::string HelpOf(const OptionsOfKey& options, size_t kinds) {
  std::vector<std::pair<std::string, std::string_view>> texts;
  for (const auto& [kind, option] : options.of_kinds) {
    const auto found =
        std::ranges::find(texts, option.help, &std::pair<std::string, std::string_view>::second);
    if (found == texts.end()) {
      texts.emplace_back(kind, option.help);
    } else {
      found->first += fmt::format(", {}", kind);
    }
  }
  if (texts.size() == 1 && options.of_kinds.size() == kinds) return std::string(texts[0].second);
  std::string help;
  for (const auto& [of, text] : texts) {
    help += fmt::format("{}{}: {}", help.empty() ? "" : "; ", of, text);
  }
  return help;
}

// The value that a flag's absence means; empty for none.
std::string DefaultOf(const SourceOption& option) {
  if (const auto* const* number = std::get_if<double*>(&option.field)) {
    return fmt::format("{:.15g}", **number);
  }
  if (const auto* const* integer = std::get_if<int64_t*>(&option.field)) {
    return std::to_string(**integer);
  }
  if (const auto* const* integer = std::get_if<uint64_t*>(&option.field)) {
    return std::to_string(**integer);
  }
  if (const auto* const* text = std::get_if<std::string*>(&option.field)) return **text;
  return "";
}

}  // namespace

absl::Status ReadSource(const ConfigTable& table, SourceSettings& source) {
  std::string kind = source.kind();
  TS_RETURN_IF_ERROR(table.Read("source", &kind));
  if (const absl::Status chosen = source.Choose(kind); !chosen.ok()) {
    return table.ErrorAt("source", Message(chosen));
  }
  for (const OptionsOfKey& options : OptionsByKey(source)) {
    TS_RETURN_IF_ERROR(SetAll(options, [&table](const SourceOption& option) {
      return std::visit(ReadField{table, option}, option.field);
    }));
  }
  const absl::Status mapped = source.chosen().CheckMap();
  if (!mapped.ok()) return table.ErrorAt("map", Message(mapped));
  for (const Schema& schema : source.chosen().Schemas()) {
    const absl::Status named = query::CheckSchemaNames(schema);
    if (!named.ok()) return table.ErrorAt("map", Message(named));
  }
  return absl::OkStatus();
}

absl::Status SetOption(const SourceOption& option, const std::string& text) {
  return std::visit(ParseField{option, text}, option.field);
}

std::function<void()> AddSourceFlags(CLI::App& command, SourceSettings& source) {
  std::vector<std::string> names;
  for (const feed::SourceKind& kind : feed::SourceKinds()) names.emplace_back(kind.name);
  command
      .add_option_function<std::string>(
          "--source",
          [&source](const std::string& kind) { ThrowUnlessOk("--source", source.Choose(kind)); },
          "sim: simulated market; lean: archives of real ticks; tplog: a tickerplant log; "
          "itch: a day of Nasdaq TotalView-ITCH; iex: a capture of IEX; "
          "lobster: a message file of LOBSTER; pitch: a day of Cboe's PITCH; "
          "dbn: a file of Databento; tardis: a CSV file of Tardis; "
          "taq: a file of NYSE Daily TAQ; "
          "mdp3: a capture of CME; "
          "websocket: messages of a crypto exchange")
      ->check(CLI::IsMember(names))
      ->default_str(source.kind());
  auto texts = std::make_shared<std::map<std::string, std::string, std::less<>>>();
  for (const OptionsOfKey& options : OptionsByKey(source)) {
    const SourceOption& first = options.of_kinds.front().second;
    if (!HasFlag(first)) continue;
    command
        .add_option_function<std::string>(
            FlagOf(options.key),
            [texts, key = std::string(options.key)](const std::string& text) {
              (*texts)[key] = text;
            },
            HelpOf(options, names.size()))
        ->default_str(DefaultOf(first));
  }
  // Only now is the kind known that the texts are for.
  return [texts, &source] {
    for (const OptionsOfKey& options : OptionsByKey(source)) {
      const auto text = texts->find(options.key);
      if (text == texts->end()) continue;
      ThrowUnlessOk(FlagOf(options.key), SetAll(options, [&](const SourceOption& option) {
                      return SetOption(option, text->second);
                    }));
    }
  };
}

}  // namespace tickstack::cli
