import Postgres
import Storage
import Text

extension Database {
    /// Active users `n@acme.example`, all made in one moment.
    package func addUsers(_ numbers: ClosedRange<Int>, to tenant: UUID) async throws {
        try await scope(tenant).change(by: .system) { change in
            try await change.query(
                """
                INSERT INTO users (tenant_id, id, email, email_key, role, status, source,
                    created_at, updated_at)
                SELECT \(change.tenant), gen_random_uuid(), n || '@acme.example',
                    n || '@acme.example', 'member', 'active', 'import', now(), now()
                FROM generate_series(\(numbers.lowerBound)::bigint, \(numbers.upperBound)::bigint)
                    AS n
                """)
        }
    }
}
