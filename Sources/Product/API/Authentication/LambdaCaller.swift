import Cryptography
import Domain
import HTTP
import JSON
import Storage
import Text

/// Authenticates callers of the Lambda Invoke API. Such a caller is an AWS client with a hook
/// credential, or an emulator on this machine if the operators opened the pool to it. Every other
/// caller needs an API key.
struct LambdaCaller: Sendable {
    /// The path of the API's functions.
    static let prefix = "/2015-03-31/functions/"
    /// The addresses of this machine. A caller gets access as an emulator only if the connection
    /// itself comes from one of these addresses. A forwarding header never gives this access, and
    /// its presence prevents it.
    private static let loopback: Set<String> = ["127.0.0.1", "::1"]

    let database: Database

    /// The caller of a signed request or of an emulator on this machine; `nil` for any other
    /// request, whose credential is then checked as usual.
    func principal(of request: Request) async throws -> CallerPrincipal? {
        guard request.method == .post, request.path.hasPrefix(Self.prefix) else { return nil }
        if let open = try await opened(request) { return open }
        let lines = request.all("authorization")
        guard lines.count == 1, lines[0].hasPrefix(AWSSignature.scheme) else { return nil }
        return try await signed(lines[0], request)
    }

    private func opened(_ request: Request) async throws -> CallerPrincipal? {
        guard Self.loopback.contains(request.remoteAddress), !request.isPassedOn,
            let event = try? JSONValue(parsing: request.body),
            let pool = event["userPoolId"]?.string,
            let provider = try await database.pool(pool),
            provider.document["lambda_open"]?.string == "loopback"
        else { return nil }
        return principal(of: provider, id: provider.id)
    }

    private func signed(_ line: String, _ request: Request) async throws -> CallerPrincipal {
        guard let signature = AWSSignature(line), signature.service == "lambda" else {
            throw Problem.unauthorized(
                "The signature is malformed, or its service is not `lambda`.")
        }
        let signed = AWSSignature.Signed(
            method: request.method.rawValue, path: request.path, query: request.query,
            fields: request.fields.map { ($0.name, $0.value) }, body: request.body)
        guard let date = signature.date(of: signed).flatMap(Self.time),
            abs(date.microseconds - database.clock().microseconds)
                <= AWSSignature.window * 1_000_000
        else {
            throw Problem.unauthorized(
                "host, x-amz-date and every x-amz- field must be signed, and x-amz-date must be "
                    + "within 5 minutes of the server's time. The signed headers must be in order, "
                    + "each once, and the credential's day must be that of x-amz-date.")
        }
        let id = UUID(signature.accessKeyID) ?? UUID.random()
        let found = try await database.hookCredential(id)
        // For an unknown credential, a random secret is checked, so that the response takes as much
        // time as for a wrong signature.
        let matches = signature.matches(signed, secret: found?.secret ?? RandomBytes.make(40))
        guard let found, matches else {
            throw Problem.unauthorized("The signature does not match.")
        }
        try admit(found.row, request)
        return principal(of: found.provider, id: id)
    }

    /// Throws if the credential has expired, is not allowed from this address or origin, or is over
    /// its rate limit. If an API key created the credential, these bounds are those of the key.
    private func admit(_ row: HookCredentialRow, _ request: Request) throws {
        let now = database.clock()
        if let end = row.bounds.expiresAt, end <= now {
            throw Problem.unauthorized("The hook credential has expired.")
        }
        guard row.bounds.allows(ip: request.remoteAddress) else {
            throw Problem.forbidden("The hook credential is not allowed from this address.")
        }
        guard row.bounds.allows(origin: request.first("origin") ?? "") else {
            throw Problem.forbidden("The hook credential is not allowed from this origin.")
        }
        guard let limit = row.bounds.ratePerMinute else { return }
        guard database.keyUses.take(limit, of: row.limitKey, at: now) != nil else {
            throw Problem.rateLimited(
                "The hook credential may be used \(limit) times a minute, together with the key "
                    + "that made it.", limit: limit,
                retryAfter: 60 - now.microseconds / 1_000_000 % 60)
        }
    }

    private func principal(of provider: ProviderRow, id: UUID) -> CallerPrincipal {
        var principal = CallerPrincipal(
            .key(
                id: id, owner: provider.tenantID.map { .tenant($0) } ?? .platform,
                scopes: [ManagementScope.hooksSignup.rawValue]),
            name: provider.name)
        principal.provider = provider.id
        return principal
    }

    /// The time in AWS's format, such as `20150830T123600Z`; `nil` for any other text.
    private static func time(_ text: String) -> Timestamp? {
        let bytes = Array(text.utf8)
        guard bytes.count == 16, bytes[8] == UInt8(ascii: "T"), bytes[15] == UInt8(ascii: "Z")
        else { return nil }
        func part(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }
        return Timestamp(
            "\(part(0..<4))-\(part(4..<6))-\(part(6..<8))T"
                + "\(part(9..<11)):\(part(11..<13)):\(part(13..<15))Z")
    }
}
