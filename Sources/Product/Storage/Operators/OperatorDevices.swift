import Domain
import Postgres
import Text

/// Browsers that an operator is known to use, by the hash of a cookie of theirs. An address says
/// less: many share one behind a carrier's network.
extension Database {
    /// Kept per operator; the least recently used is forgotten first.
    package static let knownDevices = 20
    /// Seconds after the last sign-in.
    package static let knownDeviceSeconds: Int64 = 90 * 86_400

    /// Whether a sign-in of the operator succeeded in this browser within 90 days; nil: of any
    /// operator.
    package func isKnownDevice(
        _ device: [UInt8], of person: UUID?
    ) async throws(PostgresError) -> Bool {
        let whose: SQL = person.map { " AND operator_id = \($0)" } ?? ""
        return try await !app.read(
            """
            SELECT 1 FROM operator_devices WHERE device_hash = \(device)
                AND last_at > \(clock().adding(seconds: -Self.knownDeviceSeconds))\(whose) LIMIT 1
            """
        ).isEmpty
    }
}

extension Change {
    /// A sign-in succeeded there. Returns whether the browser was not known before.
    func rememberDevice(_ device: [UInt8], of person: UUID) async throws -> Bool {
        let since = now.adding(seconds: -Database.knownDeviceSeconds)
        let known = try await query(
            """
            SELECT 1 FROM operator_devices
            WHERE operator_id = \(person) AND device_hash = \(device) AND last_at > \(since)
            """)
        try await query(
            """
            INSERT INTO operator_devices (operator_id, device_hash, last_at)
            VALUES (\(person), \(device), \(now))
            ON CONFLICT (operator_id, device_hash) DO UPDATE SET last_at = excluded.last_at
            """)
        try await query(
            """
            DELETE FROM operator_devices WHERE operator_id = \(person) AND device_hash IN (
                SELECT device_hash FROM operator_devices WHERE operator_id = \(person)
                ORDER BY last_at DESC, device_hash OFFSET \(Database.knownDevices))
            """)
        return known.isEmpty
    }

    /// `kept`: the browser that the operator uses now.
    func forgetDevices(
        of person: UUID, except kept: [UInt8]? = nil
    ) async throws(PostgresError) {
        var sql: SQL = "DELETE FROM operator_devices WHERE operator_id = \(person)"
        if let kept { sql += " AND device_hash <> \(kept)" }
        try await query(sql)
    }
}
