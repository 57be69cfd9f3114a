import Postgres
import Testing

struct ConninfoTests {
    @Test func `a keyword that is added takes precedence in both forms, with or without others`()
        throws
    {
        for (given, host) in [
            ("postgresql://ada@h/gatehouse", "h"), ("postgresql:///gatehouse?host=%2Ftmp", "/tmp"),
            ("host=h user=ada dbname=gatehouse", "h"),
        ] {
            let other = Conninfo.adding(given, "dbname", "gatehouse_drill")
            let switched = Conninfo.adding(other, "options", "-c role=gatehouse_app")
            let variables = try Conninfo.environment(switched)
            #expect(variables["PGDATABASE"] == "gatehouse_drill", "\(switched)")
            #expect(variables["PGOPTIONS"] == "-c role=gatehouse_app", "\(switched)")
            #expect(variables["PGHOST"] == host, "\(switched)")
        }
    }

    @Test(arguments: ["", "&dbname=x"])
    func `options of a URL are kept when others are added`(rest: String) throws {
        let given = "postgresql://ada@h/gatehouse?options=-c%20plan_cache_mode%3Dauto\(rest)"
        let variables = try Conninfo.environment(
            Conninfo.adding(given, "options", "-c role=gatehouse_app"))
        #expect(variables["PGOPTIONS"] == "-c role=gatehouse_app -c plan_cache_mode=auto")
    }

    @Test func `a program gets the password as a variable`() throws {
        let variables = try Conninfo.environment(
            "postgresql://ada:s%20cret@h:5433/gatehouse?sslmode=verify-full")
        #expect(variables["PGUSER"] == "ada" && variables["PGPASSWORD"] == "s cret")
        #expect(variables["PGPORT"] == "5433" && variables["PGSSLMODE"] == "verify-full")
        #expect(throws: PostgresError.self) { try Conninfo.environment("postgresql://[") }
    }
}
