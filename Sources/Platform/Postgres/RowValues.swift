import CPostgres
import Text

// What lists are made of. `Row.get` for any type takes its type's description and its way to
// decode at run time, which for a page of rows costs more than decoding; these are preferred to it
// wherever the type is known.
extension Row {
    package func get(_ column: Int) throws(PostgresError) -> UUID {
        guard let value = UUID.decode(try bytes(column), type: TypeOID.uuid) else {
            throw undecodable(column)
        }
        return value
    }

    package func get(_ column: Int) throws(PostgresError) -> UUID? {
        guard let bytes = try bytes(column) else { return nil }
        guard let value = UUID.decode(bytes, type: TypeOID.uuid) else { throw undecodable(column) }
        return value
    }

    package func get(_ column: Int) throws(PostgresError) -> String {
        guard let value = String.decode(try bytes(column), type: type(column)) else {
            throw undecodable(column)
        }
        return value
    }

    package func get(_ column: Int) throws(PostgresError) -> String? {
        guard let bytes = try bytes(column) else { return nil }
        guard let value = String.decode(bytes, type: type(column)) else {
            throw undecodable(column)
        }
        return value
    }

    package func get(_ column: Int) throws(PostgresError) -> Timestamp {
        guard let value = Timestamp.decode(try bytes(column), type: TypeOID.timestamptz) else {
            throw undecodable(column)
        }
        return value
    }

    package func get(_ column: Int) throws(PostgresError) -> Timestamp? {
        guard let bytes = try bytes(column) else { return nil }
        guard let value = Timestamp.decode(bytes, type: TypeOID.timestamptz) else {
            throw undecodable(column)
        }
        return value
    }

    package func get(_ column: Int) throws(PostgresError) -> Int {
        guard let value = Int.decode(try bytes(column), type: TypeOID.int8) else {
            throw undecodable(column)
        }
        return value
    }

    /// Nil for NULL; throws where there is no such column.
    private func bytes(_ column: Int) throws(PostgresError) -> UnsafeRawBufferPointer? {
        guard let cell = cell(column) else { throw undecodable(column) }
        return cell.value
    }

    private func type(_ column: Int) -> UInt32 {
        UInt32(PQftype(result.pointer, Int32(column)))
    }

    private func undecodable(_ column: Int) -> PostgresError {
        PostgresError(.decoding, name(column))
    }
}
