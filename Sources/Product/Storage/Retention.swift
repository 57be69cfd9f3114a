import Domain
import Postgres
import Text

/// How long expired data is kept, in seconds.
package struct Retention: Sendable, Equatable {
    /// How long a deleted user or tenant can be restored before it is purged. It is a constant
    /// because the sign-up rules, the restore and the deletion of expired rows must agree on it.
    static let deleted = Provisioning.deletedFor

    /// How long responses are stored under an Idempotency-Key.
    package var answers: Int64 = 24 * 3600
    /// How long decisions, and the rows by which their retries are recognised, are kept.
    package var decisions: Int64 = 90 * 86_400
    /// How long tokens are kept after their expiry, so that a late click gets an explanation.
    var tokens: Int64 = 86_400
    /// How long it is recorded whether a mail was sent. The mail's text is deleted much earlier.
    var mail: Int64 = 30 * 86_400

    /// How long the daily counts of each key's uses are kept.
    var uses: Int64 = 90 * 86_400
    /// How long refused origins are kept.
    var refusedOrigins: Int64 = 7 * 86_400
    /// How long the upload of a paused import is kept; after that its job is cancelled.
    var pausedImports: Int64 = 7 * 86_400
    /// How long sign-ins that failed before the rules ran are kept.
    var failedSignIns: Int64 = 90 * 86_400

    package init() {}
}

/// A table whose rows expire, and when its rows are deleted.
struct EndedRows: Sendable {
    enum Kind: Sendable {
        /// Rows of a system table, deleted in batches across all tenants.
        case system
        /// Rows of a tenant table: the platform role finds them, and the app role deletes them,
        /// tenant by tenant.
        case tenant
        /// Decisions. The app role can delete them only through a function that also writes an
        /// audit row.
        case decisions
        /// Deleted users. Each is purged on its own, as when an operator purges a user.
        case users
        /// Deleted tenants, each with all its rows.
        case tenants
        /// Jobs, each with its rows.
        case jobs
        /// Imports, each with its uploaded rows.
        case imports
    }

    var table: String
    var kind: Kind
    /// The column that holds the time from which the expiry counts.
    var column: String
    /// How many seconds after the time in `column` a row is deleted.
    var seconds: @Sendable (Retention) -> Int64
    /// The maximum number of rows that one batch deletes. A batch that deletes fewer is the last
    /// one.
    var batch: Int {
        [.users, .tenants, .jobs, .imports].contains(kind)
            ? Database.purgeBatch : Database.sweepBatch
    }

    /// Every table whose rows expire.
    static let all: [EndedRows] = [
        EndedRows(table: "idempotency", kind: .tenant, column: "created_at") { $0.answers },
        EndedRows(table: "decisions", kind: .decisions, column: "created_at") { $0.decisions },
        EndedRows(table: "provisioning_retries", kind: .system, column: "created_at") {
            $0.decisions
        },
        EndedRows(table: "provisioning_attempts", kind: .system, column: "at") { $0.decisions },
        EndedRows(table: "operator_sessions", kind: .system, column: "expires_at") { _ in 0 },
        EndedRows(table: "operator_links", kind: .system, column: "expires_at") { $0.tokens },
        EndedRows(table: "webauthn_challenges", kind: .system, column: "expires_at") { _ in 0 },
        EndedRows(table: "answered_challenges", kind: .system, column: "expires_at") { _ in 0 },
        EndedRows(table: "sign_in_failures", kind: .system, column: "last_at") { $0.tokens },
        EndedRows(table: "operator_devices", kind: .system, column: "last_at") { _ in
            Database.knownDeviceSeconds
        },
        EndedRows(table: "minute_counts", kind: .system, column: "minute") { _ in 60 },
        EndedRows(table: "pending_choices", kind: .system, column: "expires_at") { _ in 0 },
        EndedRows(table: "reservations", kind: .system, column: "expires_at") { $0.tokens },
        EndedRows(table: "sessions", kind: .tenant, column: "expires_at") { _ in 0 },
        EndedRows(table: "login_states", kind: .tenant, column: "expires_at") { $0.tokens },
        EndedRows(table: "link_grants", kind: .tenant, column: "expires_at") { $0.tokens },
        EndedRows(table: "email_changes", kind: .tenant, column: "expires_at") { $0.tokens },
        EndedRows(table: "former_addresses", kind: .tenant, column: "expires_at") { _ in 0 },
        EndedRows(table: "imports", kind: .imports, column: "expires_at") { _ in 0 },
        EndedRows(table: "tombstones", kind: .tenant, column: "expires_at") { _ in 0 },
        EndedRows(table: "password_resets", kind: .tenant, column: "expires_at") { $0.tokens },
        EndedRows(table: "api_key_uses", kind: .tenant, column: "day") { $0.uses },
        EndedRows(table: "refused_origins", kind: .tenant, column: "hour") { $0.refusedOrigins },
        EndedRows(table: "failed_sign_ins", kind: .tenant, column: "created_at") {
            $0.failedSignIns
        },
        EndedRows(table: "mail", kind: .tenant, column: "created_at") { $0.mail },
        EndedRows(table: "policy_trials", kind: .tenant, column: "expires_at") { _ in 0 },
        EndedRows(table: "inactivity_days", kind: .tenant, column: "day") { _ in 30 * 86_400 },
        EndedRows(table: "reset_asks", kind: .system, column: "created_at") { _ in 7200 },
        EndedRows(table: "jobs", kind: .jobs, column: "kept_until") { _ in 0 },
        EndedRows(table: "users", kind: .users, column: "deleted_at") { _ in Retention.deleted },
        EndedRows(table: "tenants", kind: .tenants, column: "deleted_at") { _ in
            Retention.deleted
        },
    ]
}
