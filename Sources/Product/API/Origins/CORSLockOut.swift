import Cryptography
import HTTP
import JSON
import Storage
import Text

/// Asks for a confirmation before the request's own origin is removed: otherwise the app that sends
/// it would lock itself out.
struct CORSLockOut {
    static let parameter = QueryParameter(
        "confirm", .string(min: 1, max: 128), "The token of the 409 `confirm_required`.")

    var call: Call

    /// Throws 409 with a token for exactly these rows, unless the request has it.
    func check(removing rows: [CORSOriginRow]) throws {
        guard let sent = call.request.first("origin") else { return }
        let bytes = Array(sent.utf8)
        let own = rows.filter { row in
            (try? Origin(configuring: row.origin)).map { $0.matches(bytes) } ?? false
        }
        guard !own.isEmpty else { return }
        let token = try token(for: own)
        if let given = call.query.optionalString("confirm"), sameBytes(given, token) { return }
        throw Problem(
            .confirmRequired,
            "This request itself comes from \(own[0].origin); repeat it with `confirm` to remove it.",
            members: [JSONValue.Member("confirm", .string(token))])
    }

    private func token(for rows: [CORSOriginRow]) throws -> String {
        let ids = rows.map(\.id.description).sorted().joined(separator: " ")
        let text = "cors confirm\0\(call.principal.id?.description ?? "")\0\(ids)"
        let mac = SHA256.authenticate(
            Array(text.utf8), key: try call.services.database.directoryKey)
        return Base64URL.encode(mac.prefix(18))
    }
}
