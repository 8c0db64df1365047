#include "cli/usage_error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>
#include <vector>

#include "base/nearest_name.h"

namespace tickstack::cli {
namespace {

// Returns the subcommand that was given, at any depth.
const CLI::App& Innermost(const CLI::App& app) {
  const CLI::App* inner = &app;
  while (!inner->get_subcommands().empty()) inner = inner->get_subcommands().back();
  return *inner;
}

bool HasSubcommands(const CLI::App& command) { return !command.get_subcommands({}).empty(); }

// Returns what a command says of a word that none of its subcommands has as its name.
std::string UnknownSubcommandText(const CLI::App& command, const std::string& name) {
  std::vector<std::string> known;
  for (const CLI::App* sub : command.get_subcommands({})) known.push_back(sub->get_name());
  const std::string nearest = NearestName(name, known);
  return nearest.empty() ? "no subcommand " + name
                         : fmt::format("no subcommand {}, did you mean {}?", name, nearest);
}

std::string UnknownFlagText(const CLI::App& command, const std::string& argument) {
  std::vector<std::string> known;
  for (const CLI::Option* option : command.get_options({})) {
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  }
  const std::string flag = argument.substr(0, argument.find('='));
  const std::string nearest = NearestName(flag, known);
  return nearest.empty() ? "unknown flag " + flag
                         : fmt::format("unknown flag {}, did you mean {}?", flag, nearest);
}

// Describes the arguments that a command, or one of those before it, does not know; empty if there
// are none. What follows a wrong subcommand or flag may belong to it, and is left out.
std::string UnknownText(const CLI::App& app) {
  std::vector<std::string> texts;
  for (const CLI::App* command = &app;; command = command->get_subcommands().back()) {
    const std::vector<std::string> arguments = command->remaining();
    const auto word = std::ranges::find_if(
        arguments, [](const std::string& argument) { return !argument.starts_with('-'); });
    const bool is_last = command->get_subcommands().empty();
    const bool follows_flag = word != arguments.begin();
    if (is_last && HasSubcommands(*command) && word != arguments.end() && !follows_flag) {
      texts.push_back(UnknownSubcommandText(*command, *word));
      break;
    }
    bool is_after_flag = false;
    for (const std::string& argument : arguments) {
      const bool is_flag = argument.starts_with('-');
      if (is_flag) {
        texts.push_back(UnknownFlagText(*command, argument));
      } else if (!is_after_flag) {
        texts.push_back("unexpected argument " + argument);
      }
      is_after_flag = is_flag && argument.find('=') == std::string::npos;
    }
    if (is_last) break;
  }
  return fmt::format("{}", fmt::join(texts, "\n"));
}

// Returns the numbers that an option takes; empty for an option of anything else. The name of its
// type is such as `FLOAT:NONNEGATIVE` or `UINT:INT in [0 - 65535]`.
std::string NumbersOf(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const bool whole = type.starts_with("INT") || type.starts_with("UINT");
  if (!whole && !type.starts_with("FLOAT")) return "";
  std::string number = whole ? "a whole number" : "a number";
  if (type.find("NONNEGATIVE") != std::string::npos) return number + ", 0 or more";
  if (type.find("POSITIVE") != std::string::npos) return number + " above 0";
  const size_t range = type.find(" in [");
  if (range == std::string::npos) return number;
  std::string_view bounds = std::string_view(type).substr(range + 5);
  bounds = bounds.substr(0, bounds.find(']'));
  const size_t dash = bounds.find(" - ");
  if (dash == std::string_view::npos) return number;
  return fmt::format("{} from {} to {}", number, bounds.substr(0, dash), bounds.substr(dash + 3));
}

// Returns empty if the error is not about the value of a number.
std::string WrongNumberText(const CLI::App& command, std::string_view said) {
  for (const CLI::Option* option : command.get_options({})) {
    const std::string name = option->get_name();
    const bool is_named =
        said.starts_with(name + ": ") || said.find(": " + name + " = ") != std::string_view::npos;
    if (name.empty() || !is_named || option->results().empty()) continue;
    const std::string numbers = NumbersOf(*option);
    if (numbers.empty()) continue;
    return fmt::format("{}: expected {}, found {}", name, numbers, option->results().back());
  }
  return "";
}

// Returns what an option that was given without a value, or with too few, expects; empty if the
// error is about something else.
std::string MissingValueText(const CLI::App& command, std::string_view said) {
  for (const CLI::Option* option : command.get_options({})) {
    const std::string name = option->get_name();
    if (name.empty() || !said.starts_with(name + ": ") || option->get_items_expected_min() != 1) {
      continue;
    }
    const std::string numbers = NumbersOf(*option);
    return fmt::format("{}: expected {}, found nothing", name,
                       numbers.empty() ? "a value" : numbers);
  }
  return "";
}

}  // namespace

std::string UsageErrorText(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& command = Innermost(app);
  std::string text;
  // A command that requires a subcommand misses it before it says which word is none.
  const bool is_unknown =
      dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr ||
      (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr && HasSubcommands(command));
  if (is_unknown) text = UnknownText(app);
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    text = MissingValueText(command, error.what());
  }
  const bool is_value = dynamic_cast<const CLI::ConversionError*>(&error) != nullptr ||
                        dynamic_cast<const CLI::ValidationError*>(&error) != nullptr;
  if (is_value) text = WrongNumberText(command, error.what());
  return text.empty() ? error.what() : text;
}

}  // namespace tickstack::cli
