import Postgres
import Testing
import Text

struct SQLTests {
    @Test func `interpolated values become numbered parameters`() {
        let name = "O'Neil"
        let sql: SQL = "SELECT * FROM users WHERE name = \(name) AND age > \(3)"
        #expect(sql.text == "SELECT * FROM users WHERE name = $1 AND age > $2")
    }

    @Test func `a spliced fragment is renumbered and keeps quoted dollars`() {
        let filter: SQL = "b = \("x") AND note <> '$1' AND c = \(2)"
        let sql: SQL = "SELECT a FROM t WHERE a = \(1) AND \(filter) LIMIT \(9)"
        #expect(
            sql.text
                == "SELECT a FROM t WHERE a = $1 AND b = $2 AND note <> '$1' AND c = $3 LIMIT $4")
    }

    @Test func `parts are joined with their values in order`() {
        let parts: [SQL] = ["a = \(1)", "b = \(2)", "c IS NULL", "d = \(3)"]
        #expect(
            SQL.joined(parts, separator: " AND ").text
                == "a = $1 AND b = $2 AND c IS NULL AND d = $3")
    }

    @Test func `raw text is spliced as it is`() {
        #expect(("SELECT \(raw: "a, b") FROM t" as SQL).text == "SELECT a, b FROM t")
    }
}
