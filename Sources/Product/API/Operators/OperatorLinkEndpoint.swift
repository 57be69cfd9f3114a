import Cryptography
import Domain
import HTTP
import JSON
import Storage
import Text

/// `POST /v1/operators/{id}/link`: a way in for an operator who lost the first one.
enum OperatorLinkEndpoint {
    static let remake = Endpoint(
        .post, "/v1/operators/{id}/link", id: "remakeOperatorLink", tag: "Operators",
        summary:
            "Makes the one-time link anew while the operator has never signed in and has no password. To any other "
            + "a link to a new password is mailed: no colleague gets into a used account, and the "
            + "second factor stays.",
        access: .right(.writeOperators),
        body: .json(
            ObjectShape(
                "OperatorLinkRequest",
                [.optional("delivery", .enumeration(of: Invite.Delivery.self))])),
        answers: [
            .created(
                ObjectShape(
                    "OperatorLink",
                    [
                        .readOnly(
                            "sign_in_url", .string(max: 2048), nullable: true,
                            "null where it was mailed."),
                        .readOnly("expires_at", .timestamp),
                    ]))
        ], problems: [.conflict, .rateLimited], secret: true, exists: OperatorEndpoints.isVisible
    ) { call in
        if let fault = InviteAsking.deliveryFault(call.input, call.services) {
            throw Problem.invalid([fault])
        }
        let isMailed = InviteAsking.delivery(call.input, call.services) == .mail
        let (token, database) = (TokenSecret.make(), try call.services.database)
        guard let hash = TokenSecret.hash(token) else { throw Problem.internalError }
        let row = try await OperatorEndpoints.locked(call) { change, row, _ in
            guard row.status != .suspended else {
                throw Problem(.conflict, "The operator is suspended.")
            }
            let isNew = isUnused(row)
            guard isNew || isMailed else { throw usedAccount }
            let (link, seconds) = Self.link(isNew, token, call)
            if isNew { try await change.endSignInLinks(of: row.id) }
            try await change.addOperatorLink(
                hash, for: row.id, to: isNew ? .signIn : .passwordReset, seconds: seconds,
                isMailed: isMailed)
            if isMailed {
                try await mail(
                    isNew ? .operatorLink : .passwordReset, to: row, link, seconds, change,
                    database)
            }
            try await change.audit(.operatorLinkMade, row.target)
            return row
        }
        let (link, seconds) = Self.link(isUnused(row), token, call)
        let body = JSONValue.object([
            .init("sign_in_url", isMailed ? .null : .string(link)),
            .init("expires_at", .time(call.now.adding(seconds: seconds))),
        ])
        var answer = Response.json(201, bytes: body.encoded())
        answer.set("cache-control", "no-store")
        return answer
    }

    /// Who has set a password by a mailed link keeps the account though they never signed in.
    private static func isUnused(_ row: OperatorRow) -> Bool {
        row.lastSignInAt == nil && !row.factors.hasPassword && !row.factors.hasSecondFactor
    }

    private static let usedAccount = Problem(
        .conflict,
        "The operator has a password or has signed in: only a mail to their own address makes a new password. "
            + "Without a mail server, the server's administrator does: `gatehouse operator reset`.")

    private static func link(
        _ isNew: Bool, _ token: String, _ call: Call
    ) -> (url: String, seconds: Int64) {
        let base = call.services.publicURL
        return isNew
            ? ("\(base)/console/sign-in#token=\(token)", OperatorEndpoints.linkSeconds(call))
            : ("\(base)/reset#token=\(token)", Database.resetSeconds)
    }

    static func mail(
        _ kind: OutgoingMail.Kind, to row: OperatorRow, _ link: String, _ seconds: Int64,
        _ change: Change, _ database: Database
    ) async throws {
        try await InviteAsking.answering {
            try change.checkMail(left: try await change.mailsLeft(kind))
        }
        try await change.post(
            OutgoingMail(
                kind, to: row.email,
                tenantName: row.tenant == nil ? nil : try await change.tenantName(), link: link,
                expiresAt: change.now.adding(seconds: seconds)),
            about: row.id, in: database)
    }
}
