import Postgres
import TestSupport
import Testing

/// Statements that travel with the next one, or with COMMIT.
@Suite(.cleansUp) struct LaterStatementTests {
    private struct Stop: Error {}

    private func makeTable() async throws -> Postgres {
        let (postgres, _) = try await makeDatabase()
        _ = try await postgres.query("CREATE TABLE t (a int CONSTRAINT t_a_once UNIQUE)")
        return postgres
    }

    private func isTaken(_ error: any Error) -> Bool {
        (error as? PostgresError)?.constraint == "t_a_once"
    }

    @Test func `it runs before the next statement, in its order, and with COMMIT if none follows`()
        async throws
    {
        let postgres = try await makeTable()
        let seen = try await postgres.transaction { transaction in
            transaction.queryLater("INSERT INTO t VALUES (1)")
            transaction.queryLater("UPDATE t SET a = a + 1")
            let seen = try await transaction.query("SELECT a FROM t")[0].get(0, as: Int.self)
            transaction.queryLater("INSERT INTO t VALUES (7)")
            return seen
        }
        #expect(seen == 2)
        #expect(try await postgres.one("SELECT sum(a) FROM t") == 9)
    }

    @Test func `a transaction of nothing else is committed`() async throws {
        let postgres = try await makeTable()
        try await postgres.transaction { $0.queryLater("INSERT INTO t VALUES (1)") }
        #expect(try await postgres.one("SELECT count(*) FROM t") == 1)
    }

    @Test func `its failure is that of the next statement, and nothing is written`() async throws {
        let postgres = try await makeTable()
        await #expect {
            try await postgres.transaction { transaction in
                transaction.queryLater("INSERT INTO t VALUES (1)")
                transaction.queryLater("INSERT INTO t VALUES (1)")
                transaction.queryLater("INSERT INTO t VALUES (2)")
                try await transaction.query("SELECT 1")
            }
        } throws: {
            isTaken($0)
        }
        #expect(try await postgres.one("SELECT count(*) FROM t") == 0)
    }

    @Test func `its failure is that of COMMIT, and nothing is written`() async throws {
        let postgres = try await makeTable()
        await #expect {
            try await postgres.transaction { transaction in
                try await transaction.query("INSERT INTO t VALUES (1)")
                transaction.queryLater("INSERT INTO t VALUES (1)")
            }
        } throws: {
            isTaken($0)
        }
        #expect(try await postgres.one("SELECT count(*) FROM t") == 0)
    }

    @Test func `a large one does not wait for the next, and fails as a small one does`()
        async throws
    {
        let postgres = try await makeTable()
        let large = String(repeating: "x", count: 40_000)
        try await postgres.transaction { transaction in
            transaction.queryLater("INSERT INTO t SELECT length(\(large))")
            transaction.queryLater("UPDATE t SET a = a + 1")
            let seen = try await transaction.query("SELECT a FROM t")[0].get(0, as: Int.self)
            #expect(seen == 40_001)
        }
        await #expect {
            try await postgres.transaction { transaction in
                transaction.queryLater("INSERT INTO t SELECT length(\(large)) + 1")
                transaction.queryLater("INSERT INTO t VALUES (1)")
            }
        } throws: {
            isTaken($0)
        }
        #expect(try await postgres.one("SELECT count(*) FROM t") == 1)
    }

    @Test func `its failure is thrown once, and the transaction continues from its savepoint`()
        async throws
    {
        let postgres = try await makeTable()
        let large = String(repeating: "x", count: 40_000)
        try await postgres.transaction { transaction in
            try await transaction.query("INSERT INTO t VALUES (40000)")
            try await transaction.query("SAVEPOINT one")
            transaction.queryLater("INSERT INTO t SELECT length(\(large))")
            await #expect {
                try await transaction.query("SELECT 1")
            } throws: {
                isTaken($0)
            }
            try await transaction.query("ROLLBACK TO SAVEPOINT one")
            try await transaction.query("INSERT INTO t VALUES (2)")
        }
        #expect(try await postgres.one("SELECT count(*) FROM t") == 2)
    }

    @Test func `a body that throws sends it no more`() async throws {
        let postgres = try await makeTable()
        await #expect(throws: Stop.self) {
            try await postgres.transaction { transaction in
                try await transaction.query("INSERT INTO t VALUES (1)")
                transaction.queryLater("SELECT 1 / 0")
                throw Stop()
            }
        }
        #expect(try await postgres.one("SELECT count(*) FROM t") == 0)
        // The connection is as good as before.
        try await postgres.transaction { try await $0.query("INSERT INTO t VALUES (3)") }
        #expect(try await postgres.one("SELECT a FROM t") == 3)
    }

    @Test func `answers that are awaited later come in any order, and with a statement between`()
        async throws
    {
        let postgres = try await makeTable()
        let seen = try await postgres.transaction { transaction in
            let first = transaction.ask("INSERT INTO t VALUES (1) RETURNING a")
            let second = transaction.ask("SELECT sum(a) FROM t")
            let third = try await transaction.query("SELECT count(*) FROM t")
            let sum = try await second.rows()[0].get(0, as: Int.self)
            let one = try await first.rows()[0].get(0, as: Int.self)
            return [one, sum, try third[0].get(0, as: Int.self)]
        }
        #expect(seen == [1, 1, 1])
    }

    @Test func `a statement whose answer is never read still runs`() async throws {
        let postgres = try await makeTable()
        try await postgres.transaction { _ = $0.ask("INSERT INTO t VALUES (1)") }
        #expect(try await postgres.one("SELECT count(*) FROM t") == 1)
    }

    @Test func `its failure is that of those asked after it, and nothing is written`() async throws
    {
        let postgres = try await makeTable()
        await #expect {
            try await postgres.transaction { transaction in
                _ = transaction.ask("INSERT INTO t VALUES (1)")
                transaction.queryLater("INSERT INTO t VALUES (1)")
                _ = try await transaction.ask("SELECT 1").rows()
            }
        } throws: {
            isTaken($0)
        }
        #expect(try await postgres.one("SELECT count(*) FROM t") == 0)
    }

    @Test func `one that was not sent before the end has no answer`() async throws {
        let postgres = try await makeTable()
        let open = try await postgres.begin()
        let asked = open.transaction.ask("INSERT INTO t VALUES (1)")
        await open.rollback()
        await #expect { _ = try await asked.rows() } throws: {
            ($0 as? PostgresError)?.isUnavailable == true
        }
    }
}
