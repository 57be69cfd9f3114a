/// Integers are bound as `bigint`, and read from any integer column if the value fits.
extension Int64: PostgresEncodable, PostgresDecodable {
    package static var postgresType: UInt32 { TypeOID.int8 }

    package func encode(into bytes: inout [UInt8]) -> Bool {
        bytes.appendBigEndian(self)
        return true
    }

    package static func decode(_ bytes: UnsafeRawBufferPointer?, type: UInt32) -> Int64? {
        guard let bytes else { return nil }
        return switch bytes.count {
        case 8: bytes.bigEndian(Int64.self)
        case 4: bytes.bigEndian(Int32.self).map(Int64.init)
        case 2: bytes.bigEndian(Int16.self).map(Int64.init)
        default: nil
        }
    }
}

extension Int: PostgresEncodable, PostgresDecodable {
    package static var postgresType: UInt32 { TypeOID.int8 }

    package func encode(into bytes: inout [UInt8]) -> Bool { Int64(self).encode(into: &bytes) }

    package static func decode(_ bytes: UnsafeRawBufferPointer?, type: UInt32) -> Int? {
        Int64.decode(bytes, type: type).flatMap { Int(exactly: $0) }
    }
}

extension Double: PostgresEncodable, PostgresDecodable {
    package static var postgresType: UInt32 { TypeOID.float8 }

    package func encode(into bytes: inout [UInt8]) -> Bool {
        bytes.appendBigEndian(bitPattern)
        return true
    }

    /// Only from `double precision`: `real` and `numeric` fail to decode.
    package static func decode(_ bytes: UnsafeRawBufferPointer?, type: UInt32) -> Double? {
        guard type == TypeOID.float8 else { return nil }
        return bytes?.bigEndian(UInt64.self).map(Double.init(bitPattern:))
    }
}

extension Bool: PostgresEncodable, PostgresDecodable {
    package static var postgresType: UInt32 { TypeOID.bool }

    package func encode(into bytes: inout [UInt8]) -> Bool {
        bytes.append(self ? 1 : 0)
        return true
    }

    /// nil unless the column holds exactly one byte.
    package static func decode(_ bytes: UnsafeRawBufferPointer?, type: UInt32) -> Bool? {
        guard let bytes, bytes.count == 1 else { return nil }
        return bytes[0] != 0
    }
}
