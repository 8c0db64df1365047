#include "query/language/process_values.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <climits>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "base/time.h"
#include "query/columns/elements.h"
#include "query/columns/errors.h"
#include "query/language/client_handle.h"
#include "query/language/function.h"
#include "query/language/namespaces.h"
#include "query/language/term.h"
#include "query/language/variables.h"

namespace tickstack::query {
namespace {

// The version of q whose reference the answers follow, and its date.
constexpr double kVersion = 4.1;
constexpr int32_t kVersionDay = 8809;  // 2024.02.13

Value SymbolsOf(const std::vector<std::string>& names) {
  SymbolVector symbols;
  for (const std::string& name : names) symbols.push_back(name);
  return Value::Symbols(std::move(symbols));
}

Value Ints(std::initializer_list<int32_t> values) {
  return Value::Vector(Type::kInt, std::span<const int32_t>(values.begin(), values.size()));
}

// Returns the seconds since 1970, rounded down.
time_t UnixSeconds(int64_t time_ns) {
  const int64_t seconds = time_ns / kNsPerSecond - (time_ns % kNsPerSecond < 0 ? 1 : 0);
  return static_cast<time_t>(seconds + kUnixNsOfKdbEpoch / kNsPerSecond);
}

// Returns how far the local clock is ahead of UTC at that time.
int64_t LocalOffsetNs(int64_t now_ns) {
  const time_t seconds = UnixSeconds(now_ns);
  tm local{};
  localtime_r(&seconds, &local);
  return int64_t{local.tm_gmtoff} * kNsPerSecond;
}

// The same when the local clock shows `local_ns`.
int64_t LocalOffsetAtNs(int64_t local_ns) {
  const time_t seconds = UnixSeconds(local_ns);
  tm shown{};
  gmtime_r(&seconds, &shown);
  shown.tm_isdst = -1;
  return int64_t{seconds - mktime(&shown)} * kNsPerSecond;
}

std::string HostName() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

std::vector<std::string> CommandLine() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::string> words;
  for (size_t at = 0; at < bytes.size();) {
    const size_t end = std::min(bytes.find('\0', at), bytes.size());
    words.push_back(bytes.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

Value StringsOfWords(const std::vector<std::string>& words) {
  std::vector<Value> strings;
  for (const std::string& word : words) strings.push_back(Value::String(word));
  return Value::List(std::move(strings));
}

// Returns the time for `.z.p` and the like: UTC, or for a capital letter the machine's time zone.
Value Clock(int64_t now, char letter) {
  const int32_t day = DayOf(now);
  const int64_t of_day = now - int64_t{day} * kNsPerDay;
  switch (letter) {
    case 'p':
      return Value::Timestamp(now);
    case 'd':
      return Value::Date(day);
    case 'n':
      return Value::Timespan(of_day);
    case 't':
      return Value::Atom(Type::kTime, static_cast<int32_t>(of_day / 1'000'000));
    default:
      return Value::Atom(Type::kDatetime,
                         static_cast<double>(now) / static_cast<double>(kNsPerDay));
  }
}

// Facts of the client that asks; without a client, zeros and an empty name.
ClientFacts FactsOfClient(const Context& context) {
  const ClientHandle* const client = context.variables.request().client();
  return client == nullptr ? ClientFacts() : client->facts();
}

// The handle of the client, if it has one.
Value ClientHandles(const Context& context) {
  const int32_t handle = FactsOfClient(context).handle;
  return Value::Vector(Type::kInt, std::span<const int32_t>(&handle, handle == 0 ? 0 : 1));
}

struct ProcessValue {
  char letter;
  Value (*value)(Context& context);
};

constexpr ProcessValue kProcessValues[] = {
    {'K', [](Context&) { return Value::Float(kVersion); }},
    {'k', [](Context&) { return Value::Date(kVersionDay); }},
    {'o', [](Context&) { return Value::Symbol("l64"); }},
    {'h', [](Context&) { return Value::Symbol(HostName()); }},
    {'i', [](Context&) { return Value::Int(getpid()); }},
    {'c',
     [](Context&) {
       return Value::Int(static_cast<int32_t>(std::thread::hardware_concurrency()));
     }},
    {'f', [](Context& context) { return Value::Symbol(context.environment.Facts().program); }},
    {'x', [](Context& context) { return StringsOfWords(context.environment.Facts().arguments); }},
    {'X',
     [](Context& context) {
       const ProcessFacts facts = context.environment.Facts();
       std::vector<std::string> words = {facts.program};
       words.insert(words.end(), facts.arguments.begin(), facts.arguments.end());
       return StringsOfWords(words);
     }},
    {'w', [](Context& context) { return Value::Int(FactsOfClient(context).handle); }},
    {'u', [](Context& context) { return Value::Symbol(FactsOfClient(context).user); }},
    {'a', [](Context& context) { return Value::Int(FactsOfClient(context).address); }},
    // The client's own connection, whose messages wait until its request has ended.
    {'H', [](Context& context) { return ClientHandles(context); }},
    {'W',
     [](Context& context) {
       const Value handles = ClientHandles(context);
       return Value::Dict(handles, Repeat(Value::Long(0), handles.count()));
     }},
    {'q', [](Context&) { return Value::Boolean(false); }},
    // q's licence: cores, two dates, four flags, the licence's text, a flag. None is needed here.
    {'l',
     [](Context&) {
       std::vector<std::string> parts(9);
       parts[7] = "tickstack needs no licence";
       return StringsOfWords(parts);
     }},
    {'e', [](Context&) { return Value::Dict(Value::Symbols({}), Value::List({})); }},
};

// What a message over a WebSocket does that is a dictionary of `i` and `ID`
// (wire/web_socket_session.cc). Grafana's data source reads the text to see whether there is such a
// handler.
constexpr std::string_view kWebSocketHandler = ".z.ws";
constexpr std::string_view kWebSocketHandlerText =
    "{ds:-9!x;neg[.z.w]-8!`o`ID!(@[value;ds`i;{`$\"'\",x}];ds`ID)}";

std::string_view FirstWord(std::string_view text) { return text.substr(0, text.find(' ')); }

std::string_view Argument(std::string_view text) {
  const size_t at = text.find_first_not_of(' ', FirstWord(text).size());
  return at == std::string_view::npos ? "" : text.substr(at, text.find_last_not_of(' ') - at + 1);
}

enum class Noun { kTable, kFunction, kVariable };

bool IsOfNoun(Noun noun, const Term& term) {
  const auto* const value = std::get_if<Value>(&term);
  const bool table = std::holds_alternative<TableView>(term) ||
                     (value != nullptr && (value->is_table() || value->is_keyed_table()));
  const bool function = std::holds_alternative<Function>(term) ||
                        (value != nullptr && value->is_function() && !value->is_null());
  switch (noun) {
    case Noun::kTable:
      return table;
    case Noun::kFunction:
      return function;
    case Noun::kVariable:
      return !function;
  }
  return false;
}

// `\a`, `\f` and `\v`: the names in a namespace that have the kind of value asked for.
absl::StatusOr<Term> NamesOfNoun(Context& context, Noun noun, std::string_view command) {
  const std::string_view asked = Argument(command);
  const std::string space(asked.empty() ? context.variables.space() : asked);
  std::vector<std::string> found;
  Context outside = context.Outside();
  const std::vector<std::string> names = NamesIn(context, space);
  if (names.empty() && !asked.empty() && asked != ".") return NameError(asked);
  for (const std::string& name : names) {
    const std::string whole = NameWithin(space, name);
    // Does not open a stored table's partitions, of which there may be thousands, and fetches no
    // remote table.
    if (context.environment.FindStored(whole) != nullptr ||
        context.environment.FindRemote(whole) != nullptr) {
      if (noun != Noun::kFunction) found.push_back(name);
      continue;
    }
    const absl::StatusOr<Term> term = FindName(outside, whole);
    if (!term.ok()) continue;  // A name may be evaluated and fail.
    if (IsOfNoun(noun, *term)) found.push_back(name);
  }
  return Term(SymbolsOf(found));
}

// `\b`: the views in a namespace.
absl::StatusOr<Term> ViewsIn(Context& context, std::string_view command) {
  const std::string_view asked = Argument(command);
  const std::string space(asked.empty() ? context.variables.space() : asked);
  std::vector<std::string> found;
  for (const std::string& name : NamesIn(context, space)) {
    if (context.variables.request().ViewOfName(NameWithin(space, name)) != nullptr) {
      found.push_back(name);
    }
  }
  return Term(SymbolsOf(found));
}

// `\w`: bytes in use, from the system, at most, the limit, mapped, and of the machine. A process
// that shares its memory with captured columns has no separate heap, so the first two are its
// resident memory.
Value MemoryInUse() {
  const auto field = [](const char* path, std::string_view name) {
    std::ifstream file(path);
    std::string line;
    while (std::getline(file, line)) {
      if (line.starts_with(name)) {
        return int64_t{1024} * static_cast<int64_t>(std::strtoll(&line[name.size()], nullptr, 10));
      }
    }
    return int64_t{0};
  };
  const int64_t resident = field("/proc/self/status", "VmRSS:");
  return Value::Longs({resident, resident, field("/proc/self/status", "VmHWM:"), 0,
                       field("/proc/self/status", "RssFile:"),
                       field("/proc/meminfo", "MemTotal:")});
}

absl::StatusOr<Term> ChangeSpace(Context& context, std::string_view command) {
  const std::string_view space = Argument(command);
  if (space.empty()) return Term(Value::Symbol(context.variables.request().space()));
  const bool name = space[0] == '.' && space.find(' ') == std::string_view::npos &&
                    space.find("..") == std::string_view::npos &&
                    (space.size() == 1 || space.back() != '.');
  if (!name) return DomainError("a namespace {}", space);
  context.variables.request().set_space(space);
  return Term(Value());
}

// `\c`: the lines and columns of what `.Q.s` shows, between 10 and 2000 as in q.
absl::StatusOr<Term> ConsoleSize(Context& context, std::string_view command) {
  Frame& request = context.variables.request();
  const std::string_view sizes = Argument(command);
  if (sizes.empty()) return Term(Ints({request.console().lines, request.console().columns}));
  const size_t blank = sizes.find(' ');
  const auto number = [](std::string_view text) -> std::optional<int32_t> {
    int32_t n = 0;
    while (text.starts_with(' ')) text.remove_prefix(1);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return n;
  };
  const std::optional<int32_t> lines = number(sizes.substr(0, blank));
  const std::optional<int32_t> columns =
      blank == std::string_view::npos ? std::nullopt : number(sizes.substr(blank));
  if (!lines || !columns) return DomainError("\\c takes lines and columns");
  request.set_console({std::clamp(*lines, 10, 2000), std::clamp(*columns, 10, 2000)});
  return Term(Value());
}

// What `\t expression`, `\t:n expression`, `\ts expression` or `\ts:n expression` asks for.
struct Measurement {
  int64_t times = 1;
  bool bytes = false;
};

// nullopt for another command, such as `\t 1000`, which would start a timer.
std::optional<Measurement> ParseMeasurement(std::string_view command) {
  std::string_view word = FirstWord(command);
  const std::string_view expression = Argument(command);
  const bool is_number =
      std::ranges::all_of(expression, [](char c) { return (c >= '0' && c <= '9') || c == ' '; });
  if (!word.starts_with("t")) return std::nullopt;
  word.remove_prefix(1);
  Measurement found;
  found.bytes = word.starts_with("s");
  if (found.bytes) word.remove_prefix(1);
  if (expression.empty() || (is_number && !found.bytes)) return std::nullopt;
  if (word.empty()) return found;
  const char* const last = word.data() + word.size();
  if (!word.starts_with(":")) return std::nullopt;
  const auto [end, error] = std::from_chars(word.data() + 1, last, found.times);
  if (error != std::errc() || end != last || found.times < 0) return std::nullopt;
  return found;
}

// Returns the milliseconds that it takes; with `bytes`, also the most memory that is charged at a
// time. Values that it does not keep in variables are freed after each evaluation.
absl::StatusOr<Term> Measure(Context& context, std::string_view expression, Measurement wanted) {
  const auto begin = std::chrono::steady_clock::now();
  const Budget::Peak peak(context.budget);
  for (int64_t i = 0; i < wanted.times; ++i) {
    TS_RETURN_IF_ERROR(context.budget.CheckTime());
    const Budget::Temporaries temporaries(context.budget);
    Term text = Value::String(expression);
    TS_RETURN_IF_ERROR(Apply(context, *FindBuiltin("value"), std::span(&text, 1)).status());
  }
  const auto taken = std::chrono::steady_clock::now() - begin;
  const int64_t ms = std::chrono::duration_cast<std::chrono::milliseconds>(taken).count();
  if (!wanted.bytes) return Term(Value::Long(ms));
  return Term(Value::Longs({ms, static_cast<int64_t>(peak.bytes())}));
}

// `\S`: the seed of the client's random numbers, or a new one.
absl::StatusOr<Term> RandomSeed(Context& context, std::string_view command) {
  Random& random = context.variables.request().random();
  const std::string_view text = Argument(command);
  if (text.empty()) return Term(Value::Int(random.seed()));
  int32_t seed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (error != std::errc() || end != text.data() + text.size()) {
    return DomainError("\\S takes a whole number, not {}", text);
  }
  random.Seed(seed);
  return Term(Value());
}

struct Report {
  std::string_view command;
  absl::StatusOr<Term> (*report)(Context& context, std::string_view command);
  bool takes_argument = false;
};

constexpr Report kReports[] = {
    {"a",
     [](Context& context, std::string_view command) {
       return NamesOfNoun(context, Noun::kTable, command);
     },
     true},
    {"f",
     [](Context& context, std::string_view command) {
       return NamesOfNoun(context, Noun::kFunction, command);
     },
     true},
    {"v",
     [](Context& context, std::string_view command) {
       return NamesOfNoun(context, Noun::kVariable, command);
     },
     true},
    {"b", ViewsIn, true},
    {"d", ChangeSpace, true},
    {"c", ConsoleSize, true},
    {"S", RandomSeed, true},
    {"C",
     [](Context&, std::string_view) -> absl::StatusOr<Term> { return Term(Ints({36, 2000})); }},
    {"p",
     [](Context& context, std::string_view) -> absl::StatusOr<Term> {
       return Term(Value::Int(context.environment.Facts().port));
     }},
    {"P", [](Context&, std::string_view) -> absl::StatusOr<Term> { return Term(Value::Int(7)); }},
    {"T",
     [](Context& context, std::string_view) -> absl::StatusOr<Term> {
       return Term(Value::Int(static_cast<int32_t>(context.environment.Facts().timeout_s)));
     }},
    {"s",
     [](Context& context, std::string_view) -> absl::StatusOr<Term> {
       return Term(Value::Int(context.environment.Facts().threads));
     }},
    {"t", [](Context&, std::string_view) -> absl::StatusOr<Term> { return Term(Value::Int(0)); }},
    {"w", [](Context&, std::string_view) -> absl::StatusOr<Term> { return Term(MemoryInUse()); }},
    {"W", [](Context&, std::string_view) -> absl::StatusOr<Term> { return Term(Value::Int(2)); }},
    {"e", [](Context&, std::string_view) -> absl::StatusOr<Term> { return Term(Value::Int(0)); }},
    {"g", [](Context&, std::string_view) -> absl::StatusOr<Term> { return Term(Value::Int(0)); }},
    {"o",
     [](Context&, std::string_view) -> absl::StatusOr<Term> {
       return Term(Value::Atom(Type::kInt, kNullInt));
     }},
    {"z", [](Context&, std::string_view) -> absl::StatusOr<Term> { return Term(Value::Int(0)); }},
    {"pwd",
     [](Context&, std::string_view) -> absl::StatusOr<Term> {
       std::error_code error;
       return Term(Value::List({Value::String(std::filesystem::current_path(error).string())}));
     }},
    {"cd",
     [](Context&, std::string_view) -> absl::StatusOr<Term> {
       std::error_code error;
       return Term(Value::String(std::filesystem::current_path(error).string()));
     }},
};

}  // namespace

ProcessFacts FactsOfThisProcess() {
  ProcessFacts facts;
  std::vector<std::string> words = CommandLine();
  if (words.empty()) return facts;
  facts.program = words[0];
  facts.arguments.assign(words.begin() + 1, words.end());
  return facts;
}

std::optional<Value> FindProcessValue(Context& context, std::string_view name) {
  if (name == kWebSocketHandler) return Value::String(kWebSocketHandlerText);
  if (!name.starts_with(".z.") || name.size() != 4) return std::nullopt;
  const char letter = name[3];
  if (std::string_view("pdntz").find(letter) != std::string_view::npos) {
    return Clock(context.environment.NowNs(), letter);
  }
  if (std::string_view("PDNTZ").find(letter) != std::string_view::npos) {
    const int64_t now = context.environment.NowNs();
    return Clock(now + LocalOffsetNs(now), static_cast<char>(letter - 'A' + 'a'));
  }
  const auto found = std::ranges::find(kProcessValues, letter, &ProcessValue::letter);
  if (found == std::end(kProcessValues)) return std::nullopt;
  return found->value(context);
}

absl::StatusOr<Value> OtherClock(const Value& times, Clocks clocks, Budget& budget) {
  const Type type = times.type();
  const bool is_time = type == Type::kTimestamp || type == Type::kDatetime;
  if (!is_time || (!times.is_atom() && !times.is_vector())) {
    return TypeError("gtime or ltime of a {}", NameOf(type));
  }
  const auto offset_ns = [&](int64_t ns) {
    return clocks == Clocks::kUtcOfLocal ? -LocalOffsetAtNs(ns) : LocalOffsetNs(ns);
  };
  const size_t n = times.count();
  TS_RETURN_IF_ERROR(budget.Charge(n, sizeof(int64_t)));
  const Value from = times.is_atom() ? Enlist(times) : times;
  Value to;
  if (type == Type::kTimestamp) {
    VectorWriter<int64_t> out(type, n);
    for (size_t i = 0; i < n; ++i) {
      if (i % 65'536 == 0) TS_RETURN_IF_ERROR(budget.CheckTime());
      const int64_t ns = from.span<int64_t>()[i];
      const bool finite = ns != kNullLong && ns != kInfinityLong && ns != -kInfinityLong;
      int64_t shifted = ns;
      const bool overflows = finite && __builtin_add_overflow(ns, offset_ns(ns), &shifted);
      out.data()[i] = overflows ? kNullLong : shifted;
    }
    to = std::move(out).Finish();
  } else {
    constexpr double kDaysMax = 100'000;  // Beyond, a time has no nanoseconds.
    constexpr auto kDayNs = static_cast<double>(kNsPerDay);
    VectorWriter<double> out(type, n);
    for (size_t i = 0; i < n; ++i) {
      if (i % 65'536 == 0) TS_RETURN_IF_ERROR(budget.CheckTime());
      const double days = from.span<double>()[i];
      const bool finite = std::abs(days) < kDaysMax;
      const auto ns = finite ? static_cast<int64_t>(days * kDayNs) : 0;
      out.data()[i] = finite ? days + static_cast<double>(offset_ns(ns)) / kDayNs : days;
    }
    to = std::move(out).Finish();
  }
  return times.is_atom() ? ItemAt(to, 0) : to;
}

std::vector<std::string> ProcessValueNames() {
  std::vector<std::string> names;
  for (const char letter : std::string_view("pdntzPDNTZ"))
    names.push_back(std::string(".z.") + letter);
  for (const ProcessValue& value : kProcessValues)
    names.push_back(std::string(".z.") + value.letter);
  names.emplace_back(kWebSocketHandler);
  return names;
}

absl::StatusOr<Term> RunSystemCommand(Context& context, std::string_view command) {
  while (command.starts_with(' ')) command.remove_prefix(1);
  if (const auto wanted = ParseMeasurement(command)) {
    return Measure(context, Argument(command), *wanted);
  }
  const auto found = std::ranges::find(kReports, FirstWord(command), &Report::command);
  if (found != std::end(kReports) && (found->takes_argument || Argument(command).empty())) {
    return found->report(context, command);
  }
  const Value argument = Value::String(command);
  std::optional<absl::StatusOr<Value>> result =
      context.environment.Call("system", std::span(&argument, 1));
  if (!result.has_value()) return NyiError(fmt::format("\\{}", FirstWord(command)));
  TS_RETURN_IF_ERROR(result->status());
  return *std::move(*result);
}

}  // namespace tickstack::query
