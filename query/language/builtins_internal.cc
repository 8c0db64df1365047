// What asks the process and the language about themselves: system, get and set, `-n!x`, and those
// functions of `.Q` and `.j` that are not written in q (library.cc has the others).

#include <algorithm>
#include <array>
#include <boost/uuid/detail/md5.hpp>
#include <boost/uuid/detail/sha1.hpp>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "query/kernels/texts.h"
#include "query/language/asker.h"
#include "query/language/builtins.h"
#include "query/language/function_value.h"
#include "query/language/indexing.h"
#include "query/language/json_values.h"
#include "query/language/lexer.h"
#include "query/language/parse_tree.h"
#include "query/language/process_values.h"
#include "query/language/variables.h"
#include "table/codec.h"
#include "table/format_value.h"
#include "table/lz_stream.h"

namespace tickstack::query::builtins {
namespace {

Result System(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const Value command, Take(context, args[0]));
  if (command.type() != Type::kChar) return TypeError("system of a {}", NameOf(command.type()));
  return RunSystemCommand(context, command.text());
}

// What a name stands for. `nyi` for a file's.
Result Get(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const Value name, Take(context, args[0]));
  if (IsFileName(name)) return NyiError("get");
  Term term = name;
  return Apply(context, *FindBuiltin("value"), std::span(&term, 1));
}

// `name set x: a variable of the request, also where a lambda has a local of that name.
Result Set(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(Term value, Shared(std::move(args[1]), context.budget));
  TS_ASSIGN_OR_RETURN(const Value name, Take(context, args[0]));
  if (!name.is_atom_of(Type::kSymbol)) return TypeError("set of a {}", NameOf(name.type()));
  if (IsFileName(name)) return NyiError("set");
  if (name.symbol().empty()) return TypeError("set of no name");
  Variables request(context.variables.request());
  Context outside{context.environment, context.budget, request};
  TS_RETURN_IF_ERROR(AssignName(outside, name.symbol(), std::move(value)));
  return name;
}

// There is no console: what is shown is nowhere to be seen.
Result ShowTerm(Context&, Args) { return Value(); }

Result Views(Context& context, Args) {
  SymbolVector names;
  for (const std::string& name : context.variables.request().Views()) names.push_back(name);
  return Value::Symbols(std::move(names));
}

Result View(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const Value name, Take(context, args[0]));
  if (!name.is_atom_of(Type::kSymbol)) return TypeError("view of a {}", NameOf(name.type()));
  const std::shared_ptr<const Lambda> expression = context.variables.ViewOfName(name.symbol());
  if (expression == nullptr) return NameError(name.symbol());
  constexpr size_t kBefore = 3, kAround = 4;  // {[]x}
  const std::string_view source = expression->source;
  return Value::String(source.substr(kBefore, source.size() - kAround));
}

template <typename Digest>
Value BytesOfDigest(const Digest& words) {
  ByteBuffer bytes;
  for (const unsigned int word : words) {
    for (int shift = 24; shift >= 0; shift -= 8) {
      bytes.AppendLittle(static_cast<uint8_t>(word >> shift));
    }
  }
  return Value::Vector(Type::kByte, std::move(bytes));
}

template <typename Hash>
Result HashOf(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const Value text, Take(context, args[0]));
  if (text.type() != Type::kChar) return TypeError("a hash of a {}", NameOf(text.type()));
  Hash hash;
  // An empty text may have no address, which the library must not be given.
  if (!text.text().empty()) hash.process_bytes(text.text().data(), text.text().size());
  typename Hash::digest_type digest;
  hash.get_digest(digest);
  return BytesOfDigest(digest);
}

Result Md5(Context& context, Args args) { return HashOf<boost::uuids::detail::md5>(context, args); }
Result Sha1(Context& context, Args args) {
  return HashOf<boost::uuids::detail::sha1>(context, args);
}

absl::StatusOr<Value> TextArgument(Context& context, std::string_view function, Term& term) {
  TS_ASSIGN_OR_RETURN(Value text, Take(context, term));
  if (text.type() != Type::kChar && text.type() != Type::kByte) {
    return TypeError("{} of a {}", function, NameOf(text.type()));
  }
  return text;
}

Result Base64Of(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const Value text, TextArgument(context, ".Q.btoa", args[0]));
  const std::string_view bytes = AsText(text.elements());
  TS_RETURN_IF_ERROR(context.budget.Charge(2 * bytes.size()));
  return Value::String(absl::Base64Escape(absl::string_view(bytes.data(), bytes.size())));
}

Result TextOfBase64(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const Value text, TextArgument(context, ".Q.atob", args[0]));
  const std::string_view bytes = AsText(text.elements());
  TS_RETURN_IF_ERROR(context.budget.Charge(bytes.size()));
  std::string plain;
  if (!absl::Base64Unescape(absl::string_view(bytes.data(), bytes.size()), &plain))
    return DomainError("no base 64");
  return Value::String(plain);
}

Result JsonText(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const Value x, Take(context, args[0]));
  return FromValue(JsonOf(x, context.budget));
}

Result JsonValue(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const Value text, TextArgument(context, ".j.k", args[0]));
  return FromValue(ValueOfJson(AsText(text.elements()), context.budget));
}

// 1b of a partitioned table, 0b of a splayed one, 0 of anything else.
Result IsPartitioned(Context&, Args args) {
  const auto* const view = std::get_if<TableView>(&args[0]);
  if (view == nullptr || view->stored == nullptr) return Value::Long(0);
  return Value::Boolean(view->stored->table().is_partitioned());
}

// The rows of each partition.
Result CountsByPartition(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const TableView view, ToView(context, std::move(args[0])));
  if (view.stored == nullptr || !view.stored->table().is_partitioned()) {
    return TypeError(".Q.cn of what is no partitioned table");
  }
  std::vector<int64_t> counts(view.stored->table().partitions());
  for (const StoredPart& part : view.stored->parts()) {
    counts[part.partition] = static_cast<int64_t>(part.rows);
  }
  return Value::Vector(Type::kLong, std::span<const int64_t>(counts));
}

// `.Q.trp[f;x;g]`: f of x; if that is an error, g of its text and of where it came from.
Result TrapWithTrace(Context& context, Args args) {
  const Term f = args[0];
  absl::StatusOr<Term> result =
      KeepingResult(context.budget, [&] { return ApplyTerm(context, f, args.subspan(1, 1)); });
  if (result.ok() || QErrorText(result.status()) == "stop") return result;
  TS_ASSIGN_OR_RETURN(Value trace, context.variables.request().TakeTrace(".Q.trp", context.budget));
  Term handed[] = {Value::String(QErrorText(result.status())), std::move(trace)};
  return ApplyTerm(context, std::move(args[2]), handed);
}

Result TrapListWithTrace(Context& context, Args args) {
  Term given[] = {std::move(args[0]), std::move(args[1])};
  absl::StatusOr<Term> result =
      KeepingResult(context.budget, [&] { return Apply(context, *FindBuiltin("."), given); });
  if (result.ok() || QErrorText(result.status()) == "stop") return result;
  TS_ASSIGN_OR_RETURN(Value trace,
                      context.variables.request().TakeTrace(".Q.trpd", context.budget));
  Term handed[] = {Value::String(QErrorText(result.status())), std::move(trace)};
  return ApplyTerm(context, std::move(args[2]), handed);
}

// `-4!x`: the words of a text, each blank one of its own, a comment with the blank before it one.
Result TokensOf(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const Value value, Take(context, args[0]));
  if (value.type() != Type::kChar) return TypeError("-4! of a {}", NameOf(value.type()));
  const std::string_view text = value.text();
  if (text.size() > context.budget.max_text_bytes()) {
    return LimitError("a text of {} bytes, at most {}", text.size(),
                      context.budget.max_text_bytes());
  }
  TS_RETURN_IF_ERROR(context.budget.ChargeItems(text.size()));
  TS_ASSIGN_OR_RETURN(const std::vector<Token> tokens, Tokenise(text));
  std::vector<Value> words;
  size_t at = 0;
  const auto add = [&](size_t end) {
    words.push_back(Value::String(text.substr(at, end - at)));
    at = end;
  };
  for (const Token& token : tokens) {
    while (at < token.position) {
      const size_t next = at + 1;
      const bool comment = text[at] == '/' || (next < token.position && text[next] == '/');
      add(comment ? std::min(text.find('\n', next), token.position) : next);
    }
    // Numbers side by side are one vector.
    size_t end = token.position + token.text.size();
    if (token.kind == TokenKind::kEnd) break;
    if (token.position < at) continue;
    for (const Token* next = &token + 1;
         token.kind == TokenKind::kNumber && next->kind == TokenKind::kNumber &&
         next->position == end + 1 && text[end] == ' ';
         ++next) {
      end = next->position + next->text.size();
    }
    add(end);
  }
  return Value::List(std::move(words));
}

// The header of a message: byte order, kind, whether it is compressed, 0, and its length as an int.
// In a compressed one the length of the uncompressed message follows.
constexpr size_t kHeaderBytes = 8, kCompressedHeaderBytes = 12;

absl::StatusOr<ByteBuffer> MessageOf(const Value& x, Budget& budget) {
  TS_ASSIGN_OR_RETURN(const size_t size, EncodedBytes(x));
  if (size > INT32_MAX - kHeaderBytes) return LimitError("a message of {} bytes", size);
  TS_RETURN_IF_ERROR(budget.Charge(size + kHeaderBytes));
  ByteBuffer bytes;
  bytes.reserve(size + kHeaderBytes);
  bytes.AppendLittle(uint32_t{1});  // Little-endian, asynchronous.
  bytes.AppendLittle(static_cast<int32_t>(size + kHeaderBytes));
  Encode(x, bytes);
  return bytes;
}

// `-8!x`
Result EncodedMessage(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const Value x, Take(context, args[0]));
  TS_ASSIGN_OR_RETURN(ByteBuffer message, MessageOf(x, context.budget));
  return Value::Vector(Type::kByte, std::move(message));
}

// `-18!x`: `-8!x`, compressed if that is longer than 2,000 bytes and gets less than half as long.
Result CompressedMessage(Context& context, Args args) {
  constexpr size_t kCompressBytesMin = 2000;
  TS_ASSIGN_OR_RETURN(const Value x, Take(context, args[0]));
  TS_ASSIGN_OR_RETURN(ByteBuffer message, MessageOf(x, context.budget));
  const size_t size = message.size();
  if (size <= kCompressBytesMin) return Value::Vector(Type::kByte, std::move(message));
  TS_RETURN_IF_ERROR(context.budget.Charge(size / 2));
  ByteBuffer out;
  out.reserve(size / 2);
  out.AppendLittle(uint32_t{0x00010001});  // The third byte says that it is compressed.
  out.AppendLittle(uint32_t{0});
  out.AppendLittle(static_cast<uint32_t>(size));
  if (!AppendLzStream(message.span(), size / 2, out)) {
    return Value::Vector(Type::kByte, std::move(message));
  }
  const auto total_bytes = static_cast<uint32_t>(out.size());
  std::memcpy(out.data() + 4, &total_bytes, sizeof(total_bytes));
  return Value::Vector(Type::kByte, std::move(out));
}

// The uncompressed form of a compressed message, which says how long that is.
absl::StatusOr<ByteBuffer> Uncompressed(std::span<const std::byte> message, Budget& budget) {
  if (message.size() < kCompressedHeaderBytes) {
    return LengthError("a compressed message of {} bytes", message.size());
  }
  const auto declared = LoadLittle<int32_t>(message.data() + kHeaderBytes);
  if (declared <= static_cast<int32_t>(kHeaderBytes)) {
    return LengthError("a message that declares {} bytes", declared);
  }
  TS_RETURN_IF_ERROR(budget.Charge(static_cast<size_t>(declared)));
  ByteBuffer out;
  out.Append(message.first(kHeaderBytes));
  const absl::Status expanded =
      ExpandLzStream(message.subspan(kCompressedHeaderBytes), static_cast<size_t>(declared), out);
  if (!expanded.ok()) return LengthError("{}", Message(expanded));
  return out;
}

Result DecodedMessage(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const Value x, Take(context, args[0]));
  if (!x.is(Type::kByte)) return TypeError("-9! of a {}", NameOf(x.type()));
  std::span<const std::byte> bytes = x.elements();
  if (bytes.size() <= kHeaderBytes) return LengthError("a message of {} bytes", bytes.size());
  if (bytes[0] != std::byte{1}) return NyiError("-9! of a big-endian message");
  const auto size = LoadLittle<int32_t>(bytes.data() + 4);
  if (size < 0 || static_cast<size_t>(size) != bytes.size()) {
    return LengthError("{} bytes of a message of {}", bytes.size(), size);
  }
  ByteBuffer uncompressed;
  if (bytes[2] != std::byte{0}) {
    TS_ASSIGN_OR_RETURN(uncompressed, Uncompressed(bytes, context.budget));
    bytes = uncompressed.span();
  }
  constexpr size_t kMemoryPerByte = 40;  // A list of atoms, see table/codec.h.
  TS_RETURN_IF_ERROR(context.budget.Charge(bytes.size(), kMemoryPerByte));
  absl::StatusOr<Value> value = Decode(bytes.subspan(kHeaderBytes));
  if (!value.ok()) return TypeError("{}", Message(value.status()));
  return *std::move(value);
}

// `-22!x`: as many bytes as `-8!x` would have.
Result EncodedLength(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const Value x, Take(context, args[0]));
  TS_ASSIGN_OR_RETURN(const size_t size, EncodedBytes(x));
  return Value::Long(static_cast<int64_t>(size + kHeaderBytes));
}

// `-30!(::)` defers the answer to the request, `-30!(handle;isError;value)` gives it.
Result DeferredAnswer(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const Value x, Take(context, args[0]));
  Asker* const asker = context.variables.request().asker();
  if (asker == nullptr) return DomainError("-30! of a request that no client sent");
  if (x.is_function() && x.is_null()) {
    TS_RETURN_IF_ERROR(asker->Defer());
    return Value();
  }
  const bool answers = x.is_list() && x.count() == 3 && x.items()[0].is_atom_of(Type::kInt) &&
                       x.items()[1].is_atom_of(Type::kBoolean);
  if (!answers) return TypeError("-30! of what is neither (::) nor (handle;isError;value)");
  TS_RETURN_IF_ERROR(asker->Answer(x.items()[0].as<int32_t>(), x.items()[1].as<bool>(),
                                   x.items()[2], context.budget));
  return Value();
}

// `.o.ex`, which drivers of JDBC and ODBC call with the text of a statement: q behind `q)`, else
// SQL.
Result Statement(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const Value text, Take(context, args[0]));
  if (text.type() != Type::kChar) return TypeError(".o.ex of a {}", NameOf(text.type()));
  constexpr std::string_view kLanguage = "q)";
  if (!text.text().starts_with(kLanguage)) return NyiError("SQL");
  Term statement = Value::String(text.text().substr(kLanguage.size()));
  return Apply(context, *FindBuiltin("value"), std::span(&statement, 1));
}

// Without TLS there is nothing to say of it.
Result TlsSettings(Context&, Args) { return Value::Dict(Value::Symbols({}), Value::List({})); }

struct InternalFunction {
  int64_t number;
  std::string_view name;  // The q function that it stands for; empty: calls `apply`.
  Result (*apply)(Context& context, Args args);
};

constexpr InternalFunction kInternal[] = {
    {-1, "hsym", nullptr},     {-2, "attr", nullptr},     {-3, ".Q.s1", nullptr},
    {-4, "", TokensOf},        {-5, "parse", nullptr},    {-6, "eval", nullptr},
    {-8, "", EncodedMessage},  {-9, "", DecodedMessage},  {-12, ".Q.host", nullptr},
    {-13, ".Q.addr", nullptr}, {-15, "md5", nullptr},     {-18, "", CompressedMessage},
    {-20, ".Q.gc", nullptr},   {-22, "", EncodedLength},  {-24, "reval", nullptr},
    {-26, "", TlsSettings},    {-29, ".j.k", nullptr},    {-30, "", DeferredAnswer},
    {-32, ".Q.btoa", nullptr}, {-33, ".Q.sha1", nullptr},
};

// Everything is evaluated as if by reval.
Result Reval(Context& context, Args args) { return Apply(context, *FindBuiltin("eval"), args); }

constexpr std::array kInternalTable = {
    Builtin{"system", 1, 1, false, System},
    Builtin{"get", 1, 1, false, Get},
    Builtin{"set", 2, 2, true, Set},
    Builtin{"show", 1, 1, false, ShowTerm},
    Builtin{"views", 1, 1, false, Views},
    Builtin{"view", 1, 1, false, View},
    Builtin{"md5", 1, 1, false, Md5},
    Builtin{"reval", 1, 1, false, Reval},
    Builtin{".Q.trp", 3, 3, false, TrapWithTrace},
    Builtin{".Q.trpd", 3, 3, false, TrapListWithTrace},
    Builtin{".Q.qp", 1, 1, false, IsPartitioned},
    Builtin{".Q.cn", 1, 1, false, CountsByPartition},
    Builtin{".Q.sha1", 1, 1, false, Sha1},
    Builtin{".Q.btoa", 1, 1, false, Base64Of},
    Builtin{".Q.atob", 1, 1, false, TextOfBase64},
    Builtin{".j.j", 1, 1, false, JsonText},
    Builtin{".j.k", 1, 1, false, JsonValue},
    Builtin{".o.ex", 1, 1, false, Statement},
};

}  // namespace

std::span<const Builtin> Internals() { return kInternalTable; }

Result ApplyInternal(Context& context, const Value& number, Args args) {
  const std::optional<int64_t> n = IndexOf(number);
  if (!n.has_value()) return NyiError("!");
  if (*n == kNullLong) return std::move(args[0]);  // 0N!x: there is no console to show it on.
  const auto found = std::ranges::find(kInternal, *n, &InternalFunction::number);
  if (*n >= 0 || found == std::end(kInternal)) return NyiError(fmt::format("{}!", *n));
  if (found->apply != nullptr) return found->apply(context, args);
  Context outside = context.Outside();
  TS_ASSIGN_OR_RETURN(Term function, FindName(outside, found->name));
  return ApplyTerm(context, std::move(function), args);
}

}  // namespace tickstack::query::builtins
