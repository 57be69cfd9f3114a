import CPostgres
import Glibc
import Networking

/// Blocking connections; never called on a loop.
package enum Conninfo {
    /// Why this role cannot connect, as libpq reports it without passwords; nil if it can.
    package static func fault(_ conninfo: String) -> String? {
        let defaults = [("application_name", "gatehouse"), ("connect_timeout", "5")]
        switch connect(conninfo, defaults: defaults) {
        case .success(let handle):
            PQfinish(handle)
            return nil
        case .failure(let failure):
            let lines = failure.cause.split(whereSeparator: \.isNewline)
            return lines.map { $0.drop { $0 == " " || $0 == "\t" } }.joined(separator: "; ")
        }
    }

    /// The conninfo with one more keyword, which takes precedence, but `options` of a URL are joined; `value`
    /// needs no quotes inside quotes.
    package static func adding(_ conninfo: String, _ keyword: String, _ value: String) -> String {
        guard conninfo.utf8.starts(with: "postgres".utf8) else {
            return conninfo + " \(keyword)='\(value)'"
        }
        var escaped = ""
        for scalar in value.unicodeScalars {
            switch scalar {
            case " ": escaped += "%20"
            case "=": escaped += "%3D"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        for mark in ["?options=", "&options="] where keyword == "options" {
            let parts = conninfo.split(
                separator: mark, maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2 { return "\(parts[0])\(mark)\(escaped)%20\(parts[1])" }
        }
        return conninfo + (conninfo.contains("?") ? "&" : "?") + "\(keyword)=\(escaped)"
    }

    /// libpq's environment variables for a program that connects in the same way: every user of the machine
    /// can read a program's arguments, and none but its own its environment.
    package static func environment(
        _ conninfo: String
    ) throws(PostgresError) -> [String: String] {
        guard let parsed = PQconninfoParse(conninfo, nil) else {
            throw PostgresError(.unavailable, "the connection string cannot be read")
        }
        defer { PQconninfoFree(parsed) }
        var environment: [String: String] = [:]
        var option = parsed
        while option.pointee.keyword != nil {
            if let name = option.pointee.envvar, let value = option.pointee.val {
                environment[String(cString: name)] = String(cString: value)
            }
            option += 1
        }
        return environment
    }

    /// The conninfo's own settings override the defaults, but `options` are joined.
    static func connect(
        _ conninfo: String, defaults: [(String, String)]
    ) -> Result<OpaquePointer, ConnectFailure> {
        var message: UnsafeMutablePointer<CChar>?
        guard let parsed = PQconninfoParse(conninfo, &message) else {
            // The message could quote the password.
            PQfreemem(message)
            return .failure(ConnectFailure(cause: "the connection string cannot be read"))
        }
        var parameters = defaults
        var option = parsed
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val {
                let name = String(cString: keyword)
                var text = String(cString: value)
                if let index = parameters.firstIndex(where: { $0.0 == name }) {
                    if name == "options" { text = parameters[index].1 + " " + text }
                    parameters[index].1 = text
                } else {
                    parameters.append((name, text))
                }
            }
            option += 1
        }
        PQconninfoFree(parsed)
        let keywords = parameters.map { strdup($0.0) }
        let values = parameters.map { strdup($0.1) }
        defer { for pointer in keywords + values { free(pointer) } }
        let handle = PQconnectdbParams(
            keywords.map { UnsafePointer($0) } + [nil], values.map { UnsafePointer($0) } + [nil], 0)
        guard let handle else { return .failure(ConnectFailure(cause: "out of memory")) }
        guard PQstatus(handle) == CONNECTION_OK else {
            let cause = String(cString: PQerrorMessage(handle))
            PQfinish(handle)
            return .failure(ConnectFailure(cause: cause))
        }
        return .success(handle)
    }
}
