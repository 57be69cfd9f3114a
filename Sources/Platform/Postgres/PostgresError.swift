import CPostgres

/// Why a statement or a connection failed. Never contains a bound value.
package struct PostgresError: Error, Sendable, Equatable, CustomStringConvertible {
    /// Says whether the statement can have taken effect, and whether it may be sent again.
    package enum Kind: Sendable, Equatable {
        /// The server refused the statement.
        case server(sqlstate: String, message: String, constraint: String?)
        /// There was no connection in time, or it was lost before the statement could take effect.
        case unavailable
        /// The statement or lock timeout passed; it had no effect.
        case timeout
        /// The calling task was cancelled before the statement was sent.
        case cancelled
        /// A column did not have the requested type, or is missing.
        case decoding
        /// The connection was lost after a write was sent: it may have been committed, or not.
        case commitUnknown
    }

    /// Callers decide by this; `detail` is only for the log.
    package let kind: Kind
    /// For the log: what happened, without data.
    package let detail: String
    /// The log's name for a failure that the server reports about itself.
    package let fault: StaticString?

    /// `detail` must hold no bound value: the log shows it.
    package init(_ kind: Kind, _ detail: String = "", _ fault: StaticString? = nil) {
        self.kind = kind
        self.detail = detail
        self.fault = fault
    }

    /// Compares `kind` and `detail`; `fault` follows from the kind.
    package static func == (one: PostgresError, other: PostgresError) -> Bool {
        one.kind == other.kind && one.detail == other.detail
    }

    /// Five characters of PostgreSQL's appendix A; `nil` unless the server refused the statement.
    package var sqlstate: String? {
        if case .server(let sqlstate, _, _) = kind { sqlstate } else { nil }
    }

    /// The violated constraint or index, if the server named one.
    package var constraint: String? {
        if case .server(_, _, let constraint) = kind { constraint } else { nil }
    }

    package var isUniqueViolation: Bool { sqlstate == "23505" }
    /// SQLSTATE 42501: the role lacks a grant, or row-level security refused the row.
    package var isInsufficientPrivilege: Bool { sqlstate == "42501" }
    /// A serialization failure or a deadlock: the whole transaction may be run again.
    package var isRetryable: Bool { sqlstate == "40001" || sqlstate == "40P01" }
    /// No connection in time, or it was lost before the statement took effect: it may be sent
    /// again.
    package var isUnavailable: Bool { kind == .unavailable }
    /// There was no connection, none was free in time, or it was lost.
    package var isOfConnection: Bool {
        [.unavailable, .timeout, .commitUnknown].contains(kind)
    }
    /// The server said that it cannot write: a COMMIT with this answer had no effect.
    package var saysNothingWritten: Bool {
        fault.map { ServerFault.namesOfRefusedWrites.contains($0.description) } ?? false
    }

    /// For the person who runs a command: as in the log, but always with PostgreSQL's own message.
    package var inFull: String {
        guard case .server(let sqlstate, let message, let constraint) = kind else {
            return description
        }
        return "\(sqlstate) \(message)" + (constraint.map { " (\($0))" } ?? "")
    }

    /// Codes whose messages contain only names of the schema and roles, and no value of a row.
    private static let shown: Set<String> = [
        "0A000", "25006", "25P02", "26000", "28000", "28P01", "3D000", "3F000", "40001", "40P01",
        "42501", "42601", "42703", "42883", "42P01", "42P05", "42P10", "42P18", "55000", "55006",
    ]

    /// Our text for a code; `nil` if PostgreSQL's message may be logged. The other messages contain
    /// values, or what a function raises.
    private static func words(_ sqlstate: String) -> String? {
        if shown.contains(sqlstate) { return nil }
        switch sqlstate.prefix(2) {
        case "22": return "a value does not fit"
        case "23": return "a constraint refuses the row"
        case "P0": return "a function refuses it"
        default: return "PostgreSQL refuses the statement"
        }
    }

    /// For the log: SQLSTATE and constraint of the server with our text, or the kind and its detail.
    package var description: String {
        switch kind {
        case .server(let sqlstate, let message, let constraint):
            "\(sqlstate) \(Self.words(sqlstate) ?? message)"
                + (constraint.map { " (\($0))" } ?? "")
        case .unavailable: "database unavailable \(detail)"
        case .timeout: "database timeout \(detail)"
        case .cancelled: "cancelled"
        case .decoding: "unexpected column \(detail)"
        case .commitUnknown: "outcome unknown \(detail)"
        }
    }

    /// Another statement of the same batch failed.
    static let batchAborted = PostgresError(.unavailable, "batch aborted")

    /// Reads a failed result. Without an SQLSTATE the failure is libpq's own: the connection is
    /// lost.
    init(result: OpaquePointer) {
        func field(_ code: Int32) -> String? {
            PQresultErrorField(result, code).map { String(cString: $0) }
        }
        guard let state = field(Int32(UInt8(ascii: "C"))) else {
            self.init(.unavailable, "connection lost")
            return
        }
        let message = field(Int32(UInt8(ascii: "M"))) ?? ""
        switch state {
        case "57014", "55P03": self.init(.timeout, message)
        case "57P01", "57P02", "57P03", "57P05", "25P03", "25006", "53000", "53100", "53200",
            "53300", "58030":
            self.init(.unavailable, "\(state) \(message)", ServerFault.name(of: state))
        case _ where state.hasPrefix("08") && state != "08P01": self.init(.unavailable, message)
        default:
            self.init(
                .server(
                    sqlstate: state, message: message,
                    constraint: field(Int32(UInt8(ascii: "n"))).map(Self.withoutShard)), message)
        }
    }

    /// One of several servers did not confirm a commit; it may show it later.
    static let unconfirmed = PostgresError(.commitUnknown, "a server did not confirm")

    /// On a database of several servers, the name of each shard's constraint ends with the shard's
    /// number, of at least six digits. No constraint of the schema ends so.
    private static func withoutShard(_ name: String) -> String {
        guard let mark = name.lastIndex(of: "_") else { return name }
        let digits = name[name.index(after: mark)...]
        guard digits.utf8.count >= 6, digits.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else {
            return name
        }
        return String(name[..<mark])
    }

    /// The prepared statement is missing or no longer fits its table.
    var isStalePlan: Bool {
        guard case .server(let state, let message, _) = kind else { return false }
        return state == "26000" || (state == "0A000" && message.hasPrefix("cached plan"))
    }

    /// The server's connection has another client's prepared statement, or lacks our own: something
    /// lends the same connection to several clients.
    package var losesPreparedStatements: Bool { sqlstate == "42P05" || sqlstate == "26000" }

    /// Refused because of another statement or the plan cache: not the statement's own fault.
    var isCollateral: Bool { sqlstate == "25P02" || isStalePlan }
}

/// Faults that a server reports about itself, by the log's names.
enum ServerFault {
    /// By SQLSTATE (PostgreSQL's appendix A); `nil` if the code is not a fault of the server.
    static func name(of state: String) -> StaticString? {
        switch state {
        case "25006": "postgres.writes_refused"
        case "53100": "postgres.disk_filled"
        case "53000", "53200": "postgres.memory_exhausted"
        case "53300": "postgres.connections_exhausted"
        case "57P01", "57P02": "postgres.shut_down"
        case "57P03": "postgres.start_awaited"
        case "58030": "postgres.io_failed"
        default: nil
        }
    }

    /// Faults that fail the statement and leave the connection usable.
    static let namesOfRefusedWrites: Set<String> = [
        "postgres.writes_refused", "postgres.disk_filled", "postgres.memory_exhausted",
    ]
}
