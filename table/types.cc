#include "table/types.h"

#include <array>

namespace tickstack {
namespace {

struct TypeName {
  Type type;
  char letter;
  std::string_view name;
};

constexpr std::array kTypes = {
    TypeName{Type::kList, ' ', "list"},
    TypeName{Type::kBoolean, 'b', "boolean"},
    TypeName{Type::kGuid, 'g', "guid"},
    TypeName{Type::kByte, 'x', "byte"},
    TypeName{Type::kShort, 'h', "short"},
    TypeName{Type::kInt, 'i', "int"},
    TypeName{Type::kLong, 'j', "long"},
    TypeName{Type::kReal, 'e', "real"},
    TypeName{Type::kFloat, 'f', "float"},
    TypeName{Type::kChar, 'c', "char"},
    TypeName{Type::kSymbol, 's', "symbol"},
    TypeName{Type::kTimestamp, 'p', "timestamp"},
    TypeName{Type::kMonth, 'm', "month"},
    TypeName{Type::kDate, 'd', "date"},
    TypeName{Type::kDatetime, 'z', "datetime"},
    TypeName{Type::kTimespan, 'n', "timespan"},
    TypeName{Type::kMinute, 'u', "minute"},
    TypeName{Type::kSecond, 'v', "second"},
    TypeName{Type::kTime, 't', "time"},
    TypeName{Type::kTable, ' ', "table"},
    TypeName{Type::kDict, ' ', "dictionary"},
    TypeName{Type::kLambda, ' ', "lambda"},
    TypeName{Type::kUnary, ' ', "unary primitive"},
    TypeName{Type::kOperator, ' ', "operator"},
    TypeName{Type::kIterator, ' ', "iterator"},
    TypeName{Type::kProjection, ' ', "projection"},
    TypeName{Type::kComposition, ' ', "composition"},
    TypeName{Type::kSortedDict, ' ', "sorted dictionary"},
    TypeName{Type::kError, ' ', "error"},
};

}  // namespace

char LetterOf(Type type) {
  for (const TypeName& known : kTypes) {
    if (known.type == type) return known.letter;
  }
  return ' ';
}

std::optional<Type> TypeOfLetter(char letter) {
  if (letter == ' ') return std::nullopt;
  for (const TypeName& known : kTypes) {
    if (known.letter == letter) return known.type;
  }
  return std::nullopt;
}

std::string_view NameOf(Type type) {
  for (const TypeName& known : kTypes) {
    if (known.type == type) return known.name;
  }
  return "function";
}

}  // namespace tickstack
