import Cryptography
import Domain
import HTTP
import Storage
import Text

extension Call {
    /// Throws 409 with the reason if passkeys are not offered here.
    func passkeySite() throws -> PasskeySite {
        do {
            return try services.database.passkeySite.get()
        } catch let fault as PasskeySite.Fault {
            throw Problem(.conflict, Self.words(fault))
        }
    }

    /// Why passkeys are not offered here; nil if they are.
    var passkeyFault: String? {
        get throws {
            switch try services.database.passkeySite {
            case .success: nil
            case .failure(let fault): Self.words(fault)
            }
        }
    }

    private static func words(_ fault: PasskeySite.Fault) -> String {
        switch fault {
        case .address:
            "Passkeys belong to a domain, and this server's public URL has an address instead of one."
        case .insecure:
            "Browsers offer passkeys over https or at localhost, and this server's public URL is neither."
        }
    }

    /// The operator of the console's session, and what its challenges are bound to.
    func passkeyHolder() async throws -> (person: OperatorRow, binding: [UInt8]) {
        guard let session = principal.session else { throw Problem.internalError }
        let person = try await `operator`
        return (person, SHA256.hash(Array("session \(session)".utf8)))
    }
}
