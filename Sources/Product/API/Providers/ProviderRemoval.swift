import Cryptography
import HTTP
import JSON
import Storage
import Text

/// Asks for a confirmation before a provider with identities is deleted.
struct ProviderRemoval {
    static let parameter = QueryParameter(
        "confirm", .string(min: 1, max: 128), "The token of the 409 `confirm_required`.")

    var call: Call

    /// Throws 409 with a token and the number of identities, unless the request has the token.
    func check(_ row: ProviderRow, identities: Int) throws {
        guard identities > 0 else { return }
        let token = try token(for: row)
        if let given = call.query.optionalString("confirm"), sameBytes(given, token) { return }
        throw Problem(
            .confirmRequired,
            "\(identities) identities sign in by \(row.name) and will not any more; repeat it with "
                + "`confirm` to remove it.",
            members: [
                JSONValue.Member("confirm", .string(token)),
                JSONValue.Member("identities", .int(identities)),
            ])
    }

    private func token(for row: ProviderRow) throws -> String {
        let text =
            "provider confirm\0\(call.principal.id?.description ?? "")\0\(row.id)\0\(row.version)"
        let mac = SHA256.authenticate(
            Array(text.utf8), key: try call.services.database.directoryKey)
        return Base64URL.encode(mac.prefix(18))
    }
}
