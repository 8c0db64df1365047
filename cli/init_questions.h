#pragma once

// The questions of `tickstack init`: on the terminal, or answered by flags and defaults.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/init_command.h"
#include "cli/init_config.h"

namespace tickstack::cli {

// Asks one question after the other on stdin and stdout.
class Questions {
 public:
  using Check = std::function<absl::Status(const std::string&)>;

  // `asks`: false if nothing is asked, and each answer is that of its flag or the default.
  explicit Questions(bool asks) : asks_(asks) {}

  // Returns the answer to a question: the flag's if it was given; otherwise what a person types, or
  // the default for an empty line; without a terminal the default. A typed answer that `check`
  // refuses is asked for again. Errors: those of `check`, with the flag's name, if nothing is
  // asked; kCancelled at the end of input.
  absl::StatusOr<std::string> Get(std::string_view flag, const std::optional<std::string>& given,
                                  std::string_view question, std::string_view otherwise,
                                  const Check& check);

  bool asks() const { return asks_; }

 private:
  const bool asks_;
};

// Returns the answers to all questions. Errors: those of Questions::Get, with the flag, and
// kInvalidArgument for flags that do not belong together.
absl::StatusOr<InitAnswers> AskForAnswers(const InitOptions& options, Questions& questions);

// Returns the first day of a directory of LEAN archives, such as 2013.10.07. kNotFound if it has no
// archive.
absl::StatusOr<std::string> FirstDayOf(const std::string& path);

// Returns the sorted symbols that have an archive of a day. kNotFound if there is none,
// kInvalidArgument if `date` is not a date.
absl::StatusOr<std::vector<std::string>> SymbolsOf(const std::string& path,
                                                   const std::string& date);

}  // namespace tickstack::cli
