import Testing

@testable import Postgres

@Suite struct ShardTextsTests {
    private func renamed(_ text: String) -> String? {
        let names = ["users": "users_102", "identities": "identities_103", "mail": "mail_104"]
        let texts = ShardTexts(
            tables: Set(names.keys), elsewhere: ["directory_people", "search_fetch"])
        return TenantShards(101, names, texts).text(text)
    }

    @Test func `the shards stand for the tables, under the names of the tables`() {
        for (text, expected) in [
            (
                "SELECT id FROM users WHERE id = $1",
                "SELECT id FROM users_102 AS users WHERE id = $1"
            ),
            ("SELECT u.id FROM users u", "SELECT u.id FROM users_102 u"),
            (
                "SELECT 1 FROM users\n    AS u JOIN identities\n ON true",
                "SELECT 1 FROM users_102\n    AS u JOIN identities_103 AS identities\n ON true"
            ),
            (
                "SELECT users.mail, (SELECT count(*) FROM mail) AS mail FROM users",
                "SELECT users.mail, (SELECT count(*) FROM mail_104 AS mail) AS mail FROM users_102 AS users"
            ),
            ("SELECT ' FROM users' FROM users u", "SELECT ' FROM users' FROM users_102 u"),
            (#"SELECT 1 AS "FROM" FROM users u"#, #"SELECT 1 AS "FROM" FROM users_102 u"#),
            (
                "SELECT 1 FROM users_of u JOIN (SELECT 1 FROM mail m) ON true",
                "SELECT 1 FROM users_of u JOIN (SELECT 1 FROM mail_104 m) ON true"
            ),
        ] { #expect(renamed(text) == expected) }
    }

    @Test func `Citus plans what names no table of a tenant, or something elsewhere`() {
        for text in [
            "SELECT 1", "SELECT users FROM unnest($1) AS users",
            "SELECT 1 FROM users u JOIN directory_people p ON true",
            "SELECT s.id FROM search_fetch($1) s JOIN users u ON true",
            "SELECT 1 FROM other.users", "SELECT 1 FROM mail m, users u",
            "WITH users AS (SELECT 1) SELECT 1 FROM users u JOIN mail ON true",
        ] { #expect(renamed(text) == nil, "\(text)") }
    }

    @Test func `a text that a server refused goes to Citus from then on`() {
        let texts = ShardTexts(tables: ["users"], elsewhere: [])
        let shards = TenantShards(101, ["users": "users_102"], texts)
        #expect(shards.text("SELECT 1 FROM users u") == "SELECT 1 FROM users_102 u")
        shards.decline("SELECT 1 FROM users u")
        #expect(shards.text("SELECT 1 FROM users u") == nil)
        #expect(shards.text("SELECT 2 FROM users u") == "SELECT 2 FROM users_102 u")
    }
}
