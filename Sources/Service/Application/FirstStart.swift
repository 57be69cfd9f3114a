import Configuration
import Cryptography
import Domain
import Observability
import Storage
import Text

/// Sets up an empty database for `serve`: installs the key and the owner of the settings, or logs the
/// link to the set-up page. Another start logs the same one, so that it kills no link in a hand.
struct FirstStart: Sendable {
    var settings: Settings
    var publicURL: String
    var logger: Logger

    func run(_ composition: Composition) async throws {
        let database = composition.database
        if let key = settings.setupAPIKey, try await database.installSetupKey(key.text) {
            logger.log(.info, "set-up key installed")
        }
        if try await database.hasOperator() { return }
        if let email = settings.setupOwnerEmail, let password = settings.setupOwnerPassword {
            let address = try EmailAddress(email)
            let hash = try await composition.passwords.hash(password.bytes)
            _ = try await database.createOperator(
                email: address.original, emailKey: address.key, name: nil, role: .owner,
                tenant: nil, passwordHash: hash, by: .system)
            logger.log(.info, "first owner created", [("email", .text(address.original))])
            return
        }
        switch try await database.openSetup() {
        case .token(let token):
            logger.log(
                .warning, "no owner yet: open the set-up page",
                [("url", .text("\(publicURL)/console/setup#token=\(token)"))])
        case .hidden:
            logger.log(
                .warning,
                "no owner yet: an earlier set-up link is still good; `gatehouse setup` prints another"
            )
        case .closed: break
        }
    }
}
