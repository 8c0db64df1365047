#include "cli/init_questions.h"

#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <set>

#include "base/config.h"
#include "base/human_text.h"
#include "base/printable.h"
#include "base/status.h"
#include "base/time.h"
#include "cli/tier_config.h"

namespace tickstack::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kPortMax = 65'535 - kInitPorts + 1;

absl::Status CheckNotEmpty(const std::string& text) {
  return text.empty() ? InvalidArgument("expected a path, found nothing") : absl::OkStatus();
}

// Accepts one of a few words.
Questions::Check OneOf(std::vector<std::string> words) {
  return [words = std::move(words)](const std::string& text) -> absl::Status {
    if (std::ranges::find(words, text) != words.end()) return absl::OkStatus();
    return InvalidArgument("expected {}, found {}", fmt::join(words, " or "), Printable(text));
  };
}

absl::Status CheckPort(const std::string& text) {
  int port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (whole && port >= 1 && port <= kPortMax) return absl::OkStatus();
  return InvalidArgument("expected a port from 1 to {}, found {}", kPortMax, Printable(text));
}

absl::Status CheckFile(const std::string& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return NotFound("{}: there is no such file", path);
  if (::access(path.c_str(), R_OK) == 0) return absl::OkStatus();
  return FailedPrecondition("{}: no right to read it", path);
}

absl::Status CheckFileOrEmpty(const std::string& path) {
  return path.empty() ? absl::OkStatus() : CheckFile(path);
}

absl::Status CheckTierPath(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    return NotFound("{}: expected a directory that exists", path);
  }
  if (::access(path.c_str(), W_OK | X_OK) == 0) return absl::OkStatus();
  return FailedPrecondition("{}: no right to write to it", path);
}

// The size of a tier that `path` has space for.
Questions::Check FitsInto(const std::string& path) {
  return [path](const std::string& text) -> absl::Status {
    const std::optional<size_t> bytes = ParseBytes(text);
    if (!bytes || *bytes < kFileTierBytesMin) {
      return InvalidArgument("expected a size from 16MiB on, such as 64GiB, found {}",
                             Printable(text));
    }
    struct statvfs found{};
    if (statvfs(path.c_str(), &found) != 0) return ErrnoStatus(errno, path);
    const uint64_t free = uint64_t{found.f_bavail} * found.f_frsize;
    if (*bytes <= free) return absl::OkStatus();
    return ResourceExhausted("{}: {} is free, found {}", path, BytesText(free), Printable(text));
  };
}

// Returns the first line that a person types; nullopt at the end of input.
std::optional<std::string> TypedLine(std::string_view question, std::string_view otherwise) {
  fmt::print("{} [{}]: ", question, otherwise.empty() ? "none" : otherwise);
  std::fflush(stdout);
  std::string line;
  if (!std::getline(std::cin, line)) return std::nullopt;
  const auto is_blank = [](unsigned char c) { return std::isspace(c) != 0; };
  line.erase(line.begin(), std::ranges::find_if_not(line, is_blank));
  while (!line.empty() && is_blank(static_cast<unsigned char>(line.back()))) line.pop_back();
  return line.empty() ? std::string(otherwise) : line;
}

// ---- One question each

absl::Status AskForLean(const InitOptions& options, Questions& questions, InitAnswers& answers) {
  std::string first;
  const auto has_archives = [&first](const std::string& path) -> absl::Status {
    TS_ASSIGN_OR_RETURN(first, FirstDayOf(path));
    return absl::OkStatus();
  };
  TS_ASSIGN_OR_RETURN(answers.ticks,
                      questions.Get("--ticks", options.ticks,
                                    "   Directory of the archive, with a directory for each symbol",
                                    "ticks", has_archives));
  const auto has_symbols = [&answers](const std::string& date) -> absl::Status {
    TS_ASSIGN_OR_RETURN(answers.symbols, SymbolsOf(answers.ticks, date));
    return absl::OkStatus();
  };
  TS_ASSIGN_OR_RETURN(
      answers.date, questions.Get("--date", options.date, "   Day to replay", first, has_symbols));
  return absl::OkStatus();
}

absl::Status AskForFeed(const InitOptions& options, Questions& questions, InitAnswers& answers) {
  TS_ASSIGN_OR_RETURN(
      const std::string feed,
      questions.Get("--feed", options.feed,
                    "2. Where do rows come from? sim: a simulated market; lean: an archive of "
                    "real ticks;\n   none: feed handlers of yours",
                    "sim", OneOf({"sim", "lean", "none"})));
  if (feed == "lean") {
    answers.feed = InitFeed::kLean;
    return AskForLean(options, questions, answers);
  }
  if (options.ticks || options.date) {
    return InvalidArgument("--ticks and --date need --feed lean, found --feed {}", feed);
  }
  answers.feed = feed == "sim" ? InitFeed::kSimulated : InitFeed::kNone;
  return absl::OkStatus();
}

absl::Status AskForColumns(const InitOptions& options, Questions& questions, InitAnswers& answers) {
  const bool names_tier = options.tier_path || options.tier_size;
  const std::optional<std::string> flag =
      !options.columns && names_tier ? std::optional<std::string>("tier") : options.columns;
  TS_ASSIGN_OR_RETURN(
      const std::string columns,
      questions.Get("--columns", flag,
                    "3. Where are today's rows? dram: in memory; tier: most columns in files on "
                    "persistent or CXL\n   memory, tmpfs or a disk",
                    "dram", OneOf({"dram", "tier"})));
  if (columns == "dram") {
    if (!names_tier) return absl::OkStatus();
    return InvalidArgument("--tier-path and --tier-size need --columns tier, found dram");
  }
  TS_ASSIGN_OR_RETURN(answers.tier_path,
                      questions.Get("--tier-path", options.tier_path, "   Directory of the tier",
                                    "/dev/shm", CheckTierPath));
  TS_ASSIGN_OR_RETURN(answers.tier_size, questions.Get("--tier-size", options.tier_size,
                                                       "   Size of the tier, reserved at start",
                                                       "1GiB", FitsInto(answers.tier_path)));
  return absl::OkStatus();
}

absl::Status AskForTls(const InitOptions& options, Questions& questions, InitAnswers& answers) {
  // On this machine alone, TLS is not asked for.
  Questions silent(false);
  Questions& used = answers.others_connect ? questions : silent;
  TS_ASSIGN_OR_RETURN(
      answers.certificate,
      used.Get("--certificate", options.certificate,
               "   Certificate for TLS, a file in PEM; empty: no TLS", "", CheckFileOrEmpty));
  if (answers.certificate.empty()) {
    if (!options.key && !options.ca && !options.server_name) return absl::OkStatus();
    return InvalidArgument("--key, --ca and --server-name need --certificate, found none");
  }
  TS_ASSIGN_OR_RETURN(
      answers.key,
      used.Get("--key", options.key, "   Its private key, a file in PEM", "server.key", CheckFile));
  TS_ASSIGN_OR_RETURN(
      answers.ca,
      used.Get("--ca", options.ca,
               "   Certificates that the stack's own processes trust; empty: the system's", "",
               CheckFileOrEmpty));
  answers.server_name = options.server_name.value_or("");
  return absl::OkStatus();
}

absl::Status AskForClients(const InitOptions& options, Questions& questions, InitAnswers& answers) {
  TS_ASSIGN_OR_RETURN(
      const std::string clients,
      questions.Get("--clients", options.clients,
                    "4. Who connects? local: programs on this machine; others: other machines too, "
                    "with a login",
                    "local", OneOf({"local", "others"})));
  answers.others_connect = clients == "others";
  if (answers.others_connect) {
    TS_ASSIGN_OR_RETURN(answers.users, questions.Get("--users", options.users, "   Users file",
                                                     "users", CheckNotEmpty));
  } else if (options.users) {
    TS_RETURN_IF_ERROR(Annotate(CheckNotEmpty(*options.users), "--users"));
    answers.users = *options.users;
  }
  return AskForTls(options, questions, answers);
}

absl::Status AskForPort(const InitOptions& options, Questions& questions, InitAnswers& answers) {
  std::optional<std::string> flag;
  if (options.port) flag = fmt::format("{}", *options.port);
  TS_ASSIGN_OR_RETURN(
      const std::string port,
      questions.Get("--port", flag,
                    fmt::format("5. First of {} ports, that of the tickerplant", kInitPorts),
                    "5010", CheckPort));
  answers.port = std::stoi(port);
  return absl::OkStatus();
}

// Returns the day of an archive's name, `20131007_trade.zip`; empty for other names.
std::string DayOf(const std::string& name) {
  if (!name.ends_with("_trade.zip") && !name.ends_with("_quote.zip")) return "";
  const std::string date =
      fmt::format("{}.{}.{}", name.substr(0, 4), name.substr(4, 2), name.substr(6, 2));
  return name.find('_') == 8 && ParseDate(date) ? date : "";
}

// Calls visit(symbol, day) for each archive below `path`.
template <typename Visit>
absl::Status VisitArchives(const std::string& path, Visit visit) {
  std::error_code error, ignored;
  fs::directory_iterator symbol(path, error);
  for (; !error && symbol != fs::directory_iterator(); symbol.increment(error)) {
    if (!symbol->is_directory(ignored)) continue;
    std::error_code unreadable;
    fs::directory_iterator archive(symbol->path(), unreadable);
    for (; !unreadable && archive != fs::directory_iterator(); archive.increment(unreadable)) {
      const std::string day = DayOf(archive->path().filename().string());
      if (!day.empty()) visit(symbol->path().filename().string(), day);
    }
  }
  return error ? NotFound("{}: {}", path, error.message()) : absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> Questions::Get(std::string_view flag,
                                           const std::optional<std::string>& given,
                                           std::string_view question, std::string_view otherwise,
                                           const Check& check) {
  if (given || !asks_) {
    std::string answer = given ? *given : std::string(otherwise);
    TS_RETURN_IF_ERROR(Annotate(check(answer), flag));
    return answer;
  }
  for (;;) {
    std::optional<std::string> answer = TypedLine(question, otherwise);
    if (!answer) return absl::CancelledError("the input ended before the last question");
    const absl::Status good = check(*answer);
    if (good.ok()) return *std::move(answer);
    fmt::print("   {}\n", Message(good));
  }
}

absl::StatusOr<std::string> FirstDayOf(const std::string& path) {
  std::string first;
  TS_RETURN_IF_ERROR(VisitArchives(path, [&first](const std::string&, const std::string& day) {
    if (first.empty() || day < first) first = day;
  }));
  if (!first.empty()) return first;
  return NotFound("{}: no archive found, expected SYMBOL/YYYYMMDD_trade.zip or _quote.zip", path);
}

absl::StatusOr<std::vector<std::string>> SymbolsOf(const std::string& path,
                                                   const std::string& date) {
  if (!ParseDate(date)) {
    return InvalidArgument("expected a date such as 2013.10.07, found {}", Printable(date));
  }
  std::set<std::string> symbols;
  TS_RETURN_IF_ERROR(VisitArchives(path, [&](const std::string& symbol, const std::string& day) {
    if (day == date) symbols.insert(symbol);
  }));
  if (symbols.empty()) return NotFound("{}: no archive of {} found", path, date);
  return std::vector<std::string>(symbols.begin(), symbols.end());
}

absl::StatusOr<InitAnswers> AskForAnswers(const InitOptions& options, Questions& questions) {
  InitAnswers answers;
  TS_ASSIGN_OR_RETURN(answers.data, questions.Get("--data", options.data,
                                                  "1. Directory for logs, past days and log lines",
                                                  "data", CheckNotEmpty));
  TS_RETURN_IF_ERROR(AskForFeed(options, questions, answers));
  TS_RETURN_IF_ERROR(AskForColumns(options, questions, answers));
  TS_RETURN_IF_ERROR(AskForClients(options, questions, answers));
  TS_RETURN_IF_ERROR(AskForPort(options, questions, answers));
  return answers;
}

}  // namespace tickstack::cli
