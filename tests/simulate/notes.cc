#include "tests/simulate/notes.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "base/byte_buffer.h"
#include "wire/codec.h"

namespace tickstack::simulate {
namespace {

struct Note {
  Value value, stored;
};

Note Same(Value value) { return {value, value}; }

std::vector<Note> Notes(size_t n) {
  const std::string text = fmt::format("note {}", n);
  const auto number = static_cast<int64_t>(n);
  const Value pair = Value::List({Value::String(text), Value::Longs({number, 2})});
  return {{Value(), Value::String("not stored: ::")},
          {Value::Lambda("{x+y}"), Value::String("not stored: {x+y}")},
          {Value::List({Value::String(text), Value::Lambda("{x}")}),
           Value::List({Value::String(text), Value::String("not stored: {x}")})},
          Same(Value::String(text)),
          Same(Value::Longs({number, 1})),
          Same(Value::Symbols({"A", "IBM"})),
          Same(pair)};
}

}  // namespace

Value NoteOf(size_t n) {
  std::vector<Note> notes = Notes(n);
  return std::move(notes[n % notes.size()].value);
}

Value StoredNoteOf(size_t n) {
  std::vector<Note> notes = Notes(n);
  return std::move(notes[n % notes.size()].stored);
}

bool IsUnstorable(size_t n) {
  const std::vector<Note> notes = Notes(n);
  const Note& note = notes[n % notes.size()];
  return note.value != note.stored;
}

std::string TextOfNote(std::span<const std::byte> encoded) {
  std::string text;
  for (const std::byte byte : encoded) text += fmt::format("{:02x}", std::to_integer<int>(byte));
  return text;
}

std::string TextOfNote(const Value& value) {
  ByteBuffer bytes;
  wire::Encode(value, bytes);
  return TextOfNote(bytes.span());
}

}  // namespace tickstack::simulate
