import Postgres
import Runtime
import TestSupport
import Testing
import Text

@Suite(.cleansUp) struct TransactionTests {
    private struct Stop: Error {}

    @Test func `a body that returns commits and one that throws rolls back`() async throws {
        let (postgres, _) = try await makeDatabase()
        _ = try await postgres.query("CREATE TABLE t (a int)")
        let affected = try await postgres.transaction { transaction in
            try await transaction.query("INSERT INTO t VALUES (1), (2)").affected
        }
        #expect(affected == 2)
        await #expect(throws: Stop.self) {
            try await postgres.transaction { transaction in
                try await transaction.query("DELETE FROM t")
                throw Stop()
            }
        }
        #expect(try await postgres.one("SELECT count(*) FROM t") == 2)
    }

    @Test func `settings hold inside and are quoted`() async throws {
        let (postgres, _) = try await makeDatabase(transactionsPerLoop: 1)
        let setting: SQL = "SELECT coalesce(current_setting('app.tenant', true), '')"
        let inside = try await postgres.transaction(settings: [("app.tenant", "a'b\\")]) {
            try await $0.query(setting)[0].get(0, as: String.self)
        }
        #expect(inside == "a'b\\")
        #expect(try await postgres.written(setting) == "")
    }

    @Test func `a swallowed failure does not commit in silence`() async throws {
        let (postgres, _) = try await makeDatabase()
        await #expect {
            try await postgres.transaction { transaction in
                _ = try? await transaction.query("SELECT 1 / \(0)")
            }
        } throws: {
            ($0 as? PostgresError)?.sqlstate == "25P02"
        }
    }

    @Test func `a unique violation names its constraint`() async throws {
        let (postgres, _) = try await makeDatabase()
        _ = try await postgres.query("CREATE TABLE t (a int CONSTRAINT t_a_once UNIQUE)")
        _ = try await postgres.query("INSERT INTO t VALUES (1)")
        await #expect { try await postgres.query("INSERT INTO t VALUES (1)") } throws: {
            guard let error = $0 as? PostgresError else { return false }
            return error.isUniqueViolation && error.constraint == "t_a_once"
        }
    }

    @Test func `a constraint deferred to the commit fails the write`() async throws {
        let (postgres, _) = try await makeDatabase()
        _ = try await postgres.query(
            "CREATE TABLE t (a int UNIQUE DEFERRABLE INITIALLY DEFERRED)")
        _ = try await postgres.query("INSERT INTO t VALUES (1)")
        await #expect { try await postgres.query("INSERT INTO t VALUES (1)") } throws: {
            ($0 as? PostgresError)?.isUniqueViolation == true
        }
        await #expect {
            try await postgres.transaction { try await $0.query("INSERT INTO t VALUES (1)") }
        } throws: {
            ($0 as? PostgresError)?.isUniqueViolation == true
        }
        #expect(try await postgres.written("SELECT count(*) FROM t") == 1)
    }

    @Test func `more transactions than connections wait their turn`() async throws {
        let (postgres, _) = try await makeDatabase(transactionsPerLoop: 2)
        _ = try await postgres.query("CREATE TABLE t (a int)")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<50 {
                group.addTask {
                    try await postgres.transaction {
                        _ = try await $0.query("INSERT INTO t VALUES (\(number))")
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await postgres.one("SELECT count(DISTINCT a) FROM t") == 50)
    }

    @Test func `a full pool refuses in time`() async throws {
        let (postgres, _) = try await makeDatabase(transactionsPerLoop: 1, acquireTimeout: 600)
        try await postgres.transaction { transaction in
            try await transaction.query("SELECT 1")
            await #expect { try await postgres.query("SELECT 2") } throws: {
                ($0 as? PostgresError)?.isUnavailable == true
            }
        }
    }

    @Test func `a cancelled caller leaves every connection usable`() async throws {
        let (postgres, _) = try await makeDatabase(transactionsPerLoop: 1)
        let before = try await postgres.query("SELECT pg_backend_pid()")[0].get(0, as: Int.self)
        let task = Task {
            try await postgres.transaction { transaction in
                try await transaction.query("SELECT 1")
                withUnsafeCurrentTask { $0?.cancel() }
                try await transaction.query("SELECT 2")
            }
        }
        await #expect { try await task.value } throws: {
            ($0 as? PostgresError)?.kind == .cancelled
        }
        let after = try await postgres.query("SELECT pg_backend_pid()")[0].get(0, as: Int.self)
        #expect(before == after)
    }
}
