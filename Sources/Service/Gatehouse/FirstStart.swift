import API
import Cryptography
import Domain
import Runtime
import Storage
import Text

/// Prepares an empty database for `serve`. It creates the API key and the owner that the settings
/// name, or logs a link to the set-up page. A later start logs the same link, so a copied link
/// stays valid.
struct FirstStart: Sendable {
    var settings: Settings
    var publicURL: String
    var logger: Logger

    /// Prepares the database for the first use. Pass false for `opensSetup` if an owner is created
    /// right afterwards; then no link to the set-up page is logged.
    func run(_ composition: Composition, opensSetup: Bool = true) async throws {
        let database = composition.application.database
        if let key = settings.setupAPIKey, try await database.installSetupKey(key.text) {
            logger.log(.info, "setup_key.installed")
        }
        if try await database.hasOperator() { return }
        if let email = settings.setupOwnerEmail, let password = settings.setupOwnerPassword {
            let address = try EmailAddress(email)
            if let fault = settings.setupOwnerPasswordFault {
                throw Command.Invalid(name: "GATEHOUSE_SETUP_OWNER_PASSWORD", reason: fault)
            }
            let hash = try await composition.application.passwords.hash(password.bytes)
            _ = try await database.createOperator(
                email: address.original, emailKey: address.key, name: nil, role: .owner,
                tenant: nil, passwordHash: hash, by: .system)
            logger.log(.info, "first_owner.created", [("email", .text(address.original))])
            return
        }
        guard opensSetup else { return }
        switch try await database.openSetup() {
        case .token(let token):
            logger.log(
                .warning, "setup_page.opened",
                [
                    ("hint", "there is no owner yet; open this page to create one"),
                    ("url", .text("\(publicURL)/console/setup#token=\(token)")),
                ])
        case .hidden:
            logger.log(
                .warning, "setup_page.left_open",
                [("hint", "an earlier link is still valid; `gatehouse setup` prints another")])
        case .closed: break
        }
    }
}

extension Settings {
    /// The reason why the set-up page's rules refuse the password that the settings name for the
    /// first owner; `nil` if the rules accept it.
    var setupOwnerPasswordFault: String? {
        setupOwnerPassword.flatMap {
            NewPassword(text: $0.text, about: [setupOwnerEmail ?? ""]).fault(at: "")?.detail
        }
    }
}
