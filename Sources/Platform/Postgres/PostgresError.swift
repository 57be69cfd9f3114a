import CPostgres

/// Why a statement or a connection failed. It never contains a bound value.
package struct PostgresError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kind of failure. It says whether the statement can have had an effect, and whether it
    /// may be sent again.
    package enum Kind: Sendable, Equatable {
        /// The server refused the statement.
        case server(sqlstate: String, message: String, constraint: String?)
        /// No connection was available in time, or it was lost before the statement could take
        /// effect.
        case unavailable
        /// The statement's or the lock's timeout passed, so the statement had no effect.
        case timeout
        /// The calling task was cancelled before the statement was sent.
        case cancelled
        /// A result column does not have the requested type or does not exist.
        case decoding
        /// The connection was lost after a write was sent: the write may or may not have been
        /// committed.
        case commitUnknown
    }

    /// The kind of failure, by which callers decide what to do.
    package let kind: Kind
    /// What happened, without data; only for the log.
    package let detail: String
    /// The name under which the log shows a failure that the server reports about itself; `nil` for
    /// any other failure.
    let fault: StaticString?

    /// Makes an error. `detail` must not contain a bound value, because it is logged.
    package init(_ kind: Kind, _ detail: String = "", _ fault: StaticString? = nil) {
        self.kind = kind
        self.detail = detail
        self.fault = fault
    }

    /// Compares `kind` and `detail`; `fault` depends only on the kind.
    package static func == (one: PostgresError, other: PostgresError) -> Bool {
        one.kind == other.kind && one.detail == other.detail
    }

    /// The SQLSTATE, five characters from PostgreSQL's appendix A; `nil` unless the server refused
    /// the statement.
    package var sqlstate: String? {
        if case .server(let sqlstate, _, _) = kind { sqlstate } else { nil }
    }

    /// The violated constraint or index, if the server named one.
    package var constraint: String? {
        if case .server(_, _, let constraint) = kind { constraint } else { nil }
    }

    package var isUniqueViolation: Bool { sqlstate == "23505" }
    /// Whether the role lacks a privilege or row-level security refused the row (SQLSTATE 42501).
    package var isInsufficientPrivilege: Bool { sqlstate == "42501" }
    /// Whether it is a serialization failure or a deadlock: the whole transaction may be run again.
    package var isRetryable: Bool { sqlstate == "40001" || sqlstate == "40P01" }
    /// Whether the kind is `.unavailable`: the statement certainly had no effect, so it may be sent
    /// again.
    package var isUnavailable: Bool { kind == .unavailable }
    /// Whether no connection was available in time, the connection was lost, or a timeout passed.
    package var isOfConnection: Bool {
        [.unavailable, .timeout, .commitUnknown].contains(kind)
    }
    /// Whether the server said that it cannot write. A COMMIT with this answer had no effect.
    var saysNothingWritten: Bool {
        fault.map { ServerFault.namesOfRefusedWrites.contains($0.description) } ?? false
    }

    /// The text for the person who runs a command. Unlike `description`, it contains PostgreSQL's
    /// own message for every SQLSTATE.
    package var inFull: String {
        guard case .server(let sqlstate, let message, let constraint) = kind else {
            return description
        }
        return "\(sqlstate) \(message)" + (constraint.map { " (\($0))" } ?? "")
    }

    /// SQLSTATEs whose messages contain only names of the schema and of roles, never a value from a
    /// row.
    private static let shown: Set<String> = [
        "0A000", "25006", "25P02", "26000", "28000", "28P01", "3D000", "3F000", "40001", "40P01",
        "42501", "42601", "42703", "42883", "42P01", "42P05", "42P10", "42P18", "55000", "55006",
    ]

    /// Returns our own text for an SQLSTATE whose message may contain values, or whatever a
    /// database function raises. Returns `nil` if PostgreSQL's own message may be logged.
    private static func words(_ sqlstate: String) -> String? {
        if shown.contains(sqlstate) { return nil }
        switch sqlstate.prefix(2) {
        case "22": return "a value does not fit"
        case "23": return "a constraint refuses the row"
        case "P0": return "a function refuses it"
        default: return "PostgreSQL refuses the statement"
        }
    }

    /// The text for the log: the server's SQLSTATE and constraint with a text that contains no
    /// values, or else the kind and its detail.
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

    /// The error of a statement that failed only because another statement of its batch failed.
    static let batchAborted = PostgresError(.unavailable, "batch aborted")

    /// Reads the error of a failed result. An error without an SQLSTATE is libpq's own, and means
    /// that the connection is lost.
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

    /// The error of a commit that one of several servers did not confirm. The commit may become
    /// visible on that server later.
    static let unconfirmed = PostgresError(.commitUnknown, "a server did not confirm")

    /// Removes a shard's number from a constraint's name. On a database of several servers, the
    /// names of constraints end with the shard's number, which has at least six digits. No
    /// constraint of the schema itself has such an ending.
    private static func withoutShard(_ name: String) -> String {
        guard let mark = name.lastIndex(of: "_") else { return name }
        let digits = name[name.index(after: mark)...]
        guard digits.utf8.count >= 6, digits.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else {
            return name
        }
        return String(name[..<mark])
    }

    /// Whether the prepared statement is missing or no longer fits its table.
    var isStalePlan: Bool {
        guard case .server(let state, let message, _) = kind else { return false }
        return state == "26000" || (state == "0A000" && message.hasPrefix("cached plan"))
    }

    /// Whether the server's connection has a prepared statement of another client, or lacks one of
    /// our own. Then something, such as a pooler, lends the same server connection to several
    /// clients.
    package var losesPreparedStatements: Bool { sqlstate == "42P05" || sqlstate == "26000" }

    /// Whether another statement or the plan cache caused the failure, and not the statement
    /// itself.
    var isCollateral: Bool { sqlstate == "25P02" || isStalePlan }
}

/// Faults that a server reports about itself, with their names in the log.
enum ServerFault {
    /// Returns the fault's name for an SQLSTATE (PostgreSQL's appendix A); `nil` if it is not a
    /// fault of the server.
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

    /// Faults that fail the statement but leave the connection usable.
    static let namesOfRefusedWrites: Set<String> = [
        "postgres.writes_refused", "postgres.disk_filled", "postgres.memory_exhausted",
    ]
}
