import Postgres
import Storage
import Text

extension Database {
    /// Active users `n@acme.example`, all made in one moment.
    package func addUsers(_ numbers: ClosedRange<Int>, to tenant: UUID) async throws {
        try await scope(tenant).change(by: .system) { change in
            // A statement each for a few thousand: one for all is over its time on a busy machine.
            for first in stride(from: numbers.lowerBound, through: numbers.upperBound, by: 5000) {
                let last = min(first + 4999, numbers.upperBound)
                try await change.query(
                    """
                    INSERT INTO users (tenant_id, id, email, email_key, role, status, source,
                        created_at, updated_at)
                    SELECT anchor.id, md5(\(change.tenant.description) || n::text)::uuid,
                        n || '@acme.example', n || '@acme.example', 'member', 'active', 'import',
                        \(change.now), \(change.now)
                    FROM \(SQL.anchor(of: change.tenant)),
                        generate_series(\(first)::bigint, \(last)::bigint) AS n
                    WHERE anchor.id = \(change.tenant)
                    """)
            }
        }
    }
}
