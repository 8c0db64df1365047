// `-n!x`: the internal functions of q by their numbers.

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "query/language/builtins.h"
#include "query/language/client_handle.h"
#include "query/language/indexing.h"
#include "query/language/lexer.h"
#include "query/language/variables.h"
#include "table/codec.h"
#include "table/lz_stream.h"

namespace tickstack::query::builtins {
namespace {

// `-4!x`: the tokens of a text. Each blank is a token, and so is a comment with the blank before
// it.
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
    // Adjacent numbers are one vector.
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

// Returns the uncompressed form of a compressed message, which declares its length.
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
  constexpr size_t kMemoryPerByte = 40;  // For a list of atoms, see table/codec.h.
  TS_RETURN_IF_ERROR(context.budget.Charge(bytes.size(), kMemoryPerByte));
  absl::StatusOr<Value> value = Decode(bytes.subspan(kHeaderBytes));
  if (!value.ok()) return TypeError("{}", Message(value.status()));
  return *std::move(value);
}

// `-22!x`: the number of bytes of `-8!x`.
Result EncodedLength(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const Value x, Take(context, args[0]));
  TS_ASSIGN_OR_RETURN(const size_t size, EncodedBytes(x));
  return Value::Long(static_cast<int64_t>(size + kHeaderBytes));
}

// `-30!(::)` defers the answer to the request; `-30!(handle;isError;value)` gives it.
Result DeferredAnswer(Context& context, Args args) {
  TS_ASSIGN_OR_RETURN(const Value x, Take(context, args[0]));
  ClientHandle* const client = context.variables.request().client();
  if (client == nullptr) return DomainError("-30! of a request that no client sent");
  if (x.is_function() && x.is_null()) {
    TS_RETURN_IF_ERROR(client->Defer());
    return Value();
  }
  const bool answers = x.is_list() && x.count() == 3 && x.items()[0].is_atom_of(Type::kInt) &&
                       x.items()[1].is_atom_of(Type::kBoolean);
  if (!answers) return TypeError("-30! of what is neither (::) nor (handle;isError;value)");
  TS_RETURN_IF_ERROR(client->Answer(x.items()[0].as<int32_t>(), x.items()[1].as<bool>(),
                                    x.items()[2], context.budget));
  return Value();
}

// Answers an empty dictionary, because there is no TLS.
Result TlsSettings(Context&, Args) { return Value::Dict(Value::Symbols({}), Value::List({})); }

struct InternalFunction {
  int64_t number;
  std::string_view name;  // The q function that this calls; if it is empty, `apply` is called.
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

}  // namespace

Result ApplyInternal(Context& context, const Value& number, Args args) {
  const std::optional<int64_t> n = IndexOf(number);
  if (!n.has_value()) return NyiError("!");
  // 0N!x returns x only, because there is no console.
  if (*n == kNullLong) return std::move(args[0]);
  const auto found = std::ranges::find(kInternal, *n, &InternalFunction::number);
  if (*n >= 0 || found == std::end(kInternal)) return NyiError(fmt::format("{}!", *n));
  if (found->apply != nullptr) return found->apply(context, args);
  Context outside = context.Outside();
  TS_ASSIGN_OR_RETURN(Term function, FindName(outside, found->name));
  return ApplyTerm(context, std::move(function), args);
}

}  // namespace tickstack::query::builtins
