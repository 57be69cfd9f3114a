import Text

/// The types that rows are made of, once more without generics: looking types up at each call was a
/// fifth of the processor's time for a list.
extension Row {
    /// Throws `.decoding` if the column is NULL or missing; other types' bytes are read as UTF-8.
    package func get(
        _ column: Int, as type: String.Type = String.self
    ) throws(PostgresError) -> String {
        try value(column)
    }

    /// nil if the column is NULL; throws `.decoding` if it is missing.
    package func get(
        _ column: Int, as type: String?.Type = String?.self
    ) throws(PostgresError) -> String? {
        try valueIfAny(column)
    }

    /// Throws `.decoding` if the column is NULL, missing or not 16 bytes.
    package func get(_ column: Int, as type: UUID.Type = UUID.self) throws(PostgresError) -> UUID {
        try value(column)
    }

    /// nil if the column is NULL; throws `.decoding` if it is missing or not 16 bytes.
    package func get(
        _ column: Int, as type: UUID?.Type = UUID?.self
    ) throws(PostgresError) -> UUID? {
        try valueIfAny(column)
    }

    /// Throws `.decoding` if the column is NULL, missing or infinite.
    package func get(
        _ column: Int, as type: Timestamp.Type = Timestamp.self
    ) throws(PostgresError) -> Timestamp {
        try value(column)
    }

    /// nil if the column is NULL; throws `.decoding` if it is missing or infinite.
    package func get(
        _ column: Int, as type: Timestamp?.Type = Timestamp?.self
    ) throws(PostgresError) -> Timestamp? {
        try valueIfAny(column)
    }

    /// Throws `.decoding` if the column is NULL, missing or no integer.
    package func get(_ column: Int, as type: Int.Type = Int.self) throws(PostgresError) -> Int {
        try value(column)
    }

    /// nil if the column is NULL; throws `.decoding` if it is missing or no integer.
    package func get(_ column: Int, as type: Int?.Type = Int?.self) throws(PostgresError) -> Int? {
        try valueIfAny(column)
    }

    /// Throws `.decoding` if the column is NULL, missing or not one byte.
    package func get(_ column: Int, as type: Bool.Type = Bool.self) throws(PostgresError) -> Bool {
        try value(column)
    }

    /// nil if the column is NULL; throws `.decoding` if it is missing or not one byte.
    package func get(
        _ column: Int, as type: Bool?.Type = Bool?.self
    ) throws(PostgresError) -> Bool? {
        try valueIfAny(column)
    }

    /// Throws `.decoding` if the column is NULL, missing, of several dimensions or holds a NULL.
    package func get(
        _ column: Int, as type: [String].Type = [String].self
    ) throws(PostgresError) -> [String] {
        try value(column)
    }

    /// nil if the column is NULL; throws `.decoding` if it is no array of text or holds a NULL.
    package func get(
        _ column: Int, as type: [String]?.Type = [String]?.self
    ) throws(PostgresError) -> [String]? {
        try valueIfAny(column)
    }

    @inline(__always)
    private func value<T: PostgresDecodable>(_ column: Int) throws(PostgresError) -> T {
        guard let value: T = try valueIfAny(column) else { throw undecodable(column) }
        return value
    }

    @inline(__always)
    private func valueIfAny<T: PostgresDecodable>(_ column: Int) throws(PostgresError) -> T? {
        guard let cell = cell(column) else { throw undecodable(column) }
        guard let bytes = cell.bytes else { return nil }
        guard let value = T.decode(bytes, type: cell.type) else { throw undecodable(column) }
        return value
    }
}
