#include "cli/usage_error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
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

std::string UnknownText(const CLI::App& command) {
  std::vector<std::string> known;
  for (const CLI::Option* option : command.get_options({})) {
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  }
  std::vector<std::string> texts;
  for (const std::string& argument : command.remaining(true)) {
    if (!argument.starts_with('-')) {
      texts.push_back("unexpected argument " + argument);
      continue;
    }
    const std::string flag = argument.substr(0, argument.find('='));
    const std::string nearest = NearestName(flag, known);
    texts.push_back(nearest.empty()
                        ? "unknown flag " + flag
                        : fmt::format("unknown flag {}, did you mean {}?", flag, nearest));
  }
  return fmt::format("{}", fmt::join(texts, "\n"));
}

// Returns the numbers that an option takes; empty for an option of anything else. The name of its
// type is such as `FLOAT:NONNEGATIVE` or `UINT:INT in [0 - 65535]`.
std::string NumbersOf(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const bool whole = type.starts_with("INT") || type.starts_with("UINT");
  if (!whole && !type.starts_with("FLOAT")) return "";
  const std::string number = whole ? "a whole number" : "a number";
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

}  // namespace

std::string UsageErrorText(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& command = Innermost(app);
  std::string text;
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) text = UnknownText(command);
  const bool is_value = dynamic_cast<const CLI::ConversionError*>(&error) != nullptr ||
                        dynamic_cast<const CLI::ValidationError*>(&error) != nullptr;
  if (is_value) text = WrongNumberText(command, error.what());
  return text.empty() ? error.what() : text;
}

}  // namespace tickstack::cli
