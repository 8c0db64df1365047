#pragma once

// A value as a message. The codec of values is table/codec.h, since the same bytes are in files;
// its names are also names of wire's.

#include "base/byte_buffer.h"
#include "table/codec.h"
#include "wire/ipc.h"

namespace tickstack::wire {

using tickstack::Decode;
using tickstack::DecodePrefix;
using tickstack::DecodeWithin;
using tickstack::Encode;
using tickstack::EncodedBytes;
using tickstack::kCountMax;
using tickstack::kDepthMax;
using tickstack::ToLittleEndian;
using tickstack::ValueBytes;

// Header and body of an uncompressed message. The caller has asked EncodedBytes about a value that
// may be too long: a count beyond kCountMax is a TS_CHECK.
ByteBuffer EncodeMessage(MessageKind kind, const Value& value);

}  // namespace tickstack::wire
