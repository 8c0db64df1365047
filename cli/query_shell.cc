#include "cli/query_shell.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "cli/line_editor.h"
#include "cli/query_words.h"

namespace tickstack::cli {
namespace {

constexpr int64_t kAskForWordsNs = kNsPerSecond;  // A completion must not block for long.
constexpr int64_t kWordsLiveNs = 60 * kNsPerSecond;
constexpr size_t kTablesCompleted = 100;

constexpr const char* kHelp =
    "  tab            completes tables, columns and functions; up, down, Ctrl-R: earlier lines\n"
    "  Ctrl-C         clears the line, or cancels the running query\n"
    "  \\t            shows the time of each answer, on or off;  \\t EXPRESSION  shows only the "
    "time\n"
    "  \\m            shows the whole last answer in a pager\n"
    "  \\f FORMAT     sets the output format: text, csv or json\n"
    "  \\s FILE       sends the statements of a file\n"
    "  \\c ADDRESS    connects to other servers; separate several by commas\n"
    "  \\h  \\q        help; quits, like Ctrl-D\n"
    "Every other line is sent to the server, also one that begins with a backslash.\n";

// Returns the path of the history; empty without a home directory.
std::string HistoryFile() {
  if (const char* file = std::getenv("TICKSTACK_HISTORY")) return file;
  const char* const state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && *state != 0) return fmt::format("{}/tickstack/query_history", state);
  const char* const home = std::getenv("HOME");
  return home == nullptr ? "" : fmt::format("{}/.local/state/tickstack/query_history", home);
}

class QueryShell {
 public:
  QueryShell(std::unique_ptr<QueryServers> servers, const QueryOptions& options,
             std::chrono::milliseconds timeout)
      : servers_(std::move(servers)),
        options_(options),
        timeout_(timeout),
        editor_(HistoryFile(), [this](std::string_view text) { return Complete(text); }) {}

  int Run() {
    std::printf("tickstack query: \\h for help\n");
    std::string entry;
    for (;;) {
      const std::string prompt = entry.empty() ? fmt::format("{} q)", servers_->names()) : "  ";
      const std::optional<LineEditor::Line> line = editor_.Read(prompt);
      if (!line) break;
      if (line->cancelled) {
        entry.clear();
        continue;
      }
      entry += entry.empty() ? line->text : "\n" + line->text;
      if (IsIncomplete(entry)) continue;
      const std::string whole = std::exchange(entry, "");
      if (whole.find_first_not_of(" \t\n") == std::string::npos) continue;
      editor_.AddToHistory(whole);
      if (!Do(whole)) return EXIT_SUCCESS;
    }
    std::printf("\n");
    return EXIT_SUCCESS;
  }

 private:
  // Returns false to leave the shell.
  bool Do(const std::string& entry) {
    if (entry == "\\q" || entry == "\\\\" || entry == "exit") return false;
    const size_t space = std::min(entry.find(' '), entry.size());
    const std::string command = entry.substr(0, space);
    const std::string rest = space < entry.size() ? entry.substr(space + 1) : "";
    if (command == "\\h") {
      std::printf("%s", kHelp);
    } else if (command == "\\t" && rest.empty()) {
      timing_ = !timing_;
      std::printf("times are %s\n", timing_ ? "shown" : "not shown");
    } else if (command == "\\t") {
      Ask(rest, true);
    } else if (command == "\\m") {
      ShowInPager(last_.empty() ? "" : TextOf(last_, {}));
    } else if (command == "\\f") {
      SetFormat(rest);
    } else if (command == "\\s") {
      RunFile(rest);
    } else if (command == "\\c") {
      ConnectTo(rest);
    } else {
      Ask(entry, false);
    }
    return true;
  }

  std::string TextOf(const std::vector<QueryServers::Answered>& answers,
                     const TextLimits& limits) const {
    if (answers.size() > 1) return Formatted(answers, options_.format, limits);
    if (!answers[0].answer.ok()) return ErrorText(answers[0].answer.status()) + "\n";
    return Formatted(*answers[0].answer, options_.format, limits);
  }

  bool Ask(const std::string& query, bool only_time) {
    last_ = servers_->Ask(query, timeout_);
    bool ok = true;
    for (const QueryServers::Answered& answered : last_) ok = ok && answered.answer.ok();
    if (!only_time || !ok) WriteOut(TextOf(last_, TerminalLimits()));
    if (only_time || timing_) {
      for (const QueryServers::Answered& answered : last_) {
        std::printf("%s%.3f ms\n", last_.size() > 1 ? (answered.address + ": ").c_str() : "",
                    answered.ms);
      }
    }
    return ok;
  }

  void SetFormat(const std::string& name) {
    if (name == "csv" && servers_->size() > 1) {
      std::printf("CSV cannot show the names of several servers; use json\n");
    } else if (name == "text") {
      options_.format = OutputFormat::kText;
    } else if (name == "csv") {
      options_.format = OutputFormat::kCsv;
    } else if (name == "json") {
      options_.format = OutputFormat::kJson;
    } else {
      std::printf("\\f %s: expected text, csv or json\n", name.c_str());
    }
  }

  void RunFile(const std::string& path) {
    const absl::StatusOr<std::string> script = ReadScript(path);
    if (!script.ok()) return void(std::printf("%s\n", ErrorText(script.status()).c_str()));
    for (const Statement& statement : StatementsOf(*script)) {
      if (Ask(statement.text, false)) continue;
      std::printf("%s:%zu: stopped here\n", path.c_str(), statement.line);
      return;
    }
  }

  void ConnectTo(const std::string& addresses) {
    const absl::StatusOr<wire::ClientOptions> client = LoginOf(options_);
    if (!client.ok()) return void(std::printf("%s\n", ErrorText(client.status()).c_str()));
    absl::StatusOr<std::unique_ptr<QueryServers>> servers =
        QueryServers::Connect(addresses, *client);
    if (!servers.ok()) return void(std::printf("%s\n", ErrorText(servers.status()).c_str()));
    if ((*servers)->size() > 1 && options_.format == OutputFormat::kCsv) {
      options_.format = OutputFormat::kText;
    }
    servers_ = *std::move(servers);
    words_.clear();
  }

  Completion Complete(std::string_view text) {
    Completion found;
    if (text.starts_with('\\')) {
      if (text.find(' ') != std::string_view::npos) return found;
      found.words = WordsThatBegin({"\\c", "\\f", "\\h", "\\m", "\\q", "\\s", "\\t"}, text);
      return found;
    }
    found.begin = BeginOfWord(text);
    if (found.begin == text.size()) return found;
    if (words_.empty() || MonotonicNs() - words_ns_ > kWordsLiveNs) LookUpWords();
    found.words = WordsThatBegin(words_, text.substr(found.begin));
    return found;
  }

  // Returns the symbols of an answer of the first server, since several servers are asked the same.
  // A server that does not answer in time is not asked again.
  std::vector<std::string> NamesOf(const std::string& query, int64_t give_up_ns) {
    std::vector<std::string> names;
    const int64_t left_ns = give_up_ns - MonotonicNs();
    if (left_ns <= 0) return names;
    const auto answers =
        servers_->AskFirst(query, std::chrono::milliseconds(left_ns / 1'000'000 + 1));
    if (!answers.answer.ok() || !answers.answer->is(Type::kSymbol)) return names;
    for (size_t i = 0; i < answers.answer->count(); ++i) {
      names.emplace_back(answers.answer->symbols()[i]);
    }
    return names;
  }

  // Adds the names of a namespace, such as `.rdb.stats` of `.rdb`.
  void AddNamesWithin(const std::string& space, int64_t give_up_ns) {
    for (const std::string& name : NamesOf("key `." + space, give_up_ns)) {
      if (!name.empty()) words_.push_back(fmt::format(".{}.{}", space, name));
    }
  }

  void LookUpWords() {
    const int64_t give_up_ns = MonotonicNs() + kAskForWordsNs;
    words_ = NamesOf("tables[]", give_up_ns);
    std::vector<std::string> tables = words_;
    tables.resize(std::min(tables.size(), kTablesCompleted));
    const std::vector<std::string> functions = NamesOf("key `.q", give_up_ns);
    words_.insert(words_.end(), functions.begin(), functions.end());
    for (const std::string& space : NamesOf("key `", give_up_ns)) {
      if (space != "q") AddNamesWithin(space, give_up_ns);
    }
    for (const std::string& table : tables) {
      const std::vector<std::string> columns = NamesOf("cols " + table, give_up_ns);
      words_.insert(words_.end(), columns.begin(), columns.end());
    }
    for (const char* word : {"select", "exec", "from", "where", "by"}) words_.emplace_back(word);
    std::sort(words_.begin(), words_.end());
    words_.erase(std::unique(words_.begin(), words_.end()), words_.end());
    words_ns_ = MonotonicNs();
  }

  std::unique_ptr<QueryServers> servers_;
  QueryOptions options_;
  const std::chrono::milliseconds timeout_;
  bool timing_ = false;
  std::vector<QueryServers::Answered> last_;
  std::vector<std::string> words_;  // Sorted; names of the servers.
  int64_t words_ns_ = 0;            // When they were last requested.
  LineEditor editor_;
};

}  // namespace

int RunQueryShell(std::unique_ptr<QueryServers> servers, const QueryOptions& options,
                  std::chrono::milliseconds timeout) {
  return QueryShell(std::move(servers), options, timeout).Run();
}

}  // namespace tickstack::cli
